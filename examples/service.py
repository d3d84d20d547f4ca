"""A chat service with many users, on FastAPI: turns, a side bar, streaming, and a stop button.

    python examples/service.py

Then open the address that it prints, in two tabs, too. It needs fastapi and uvicorn. Set
OPENAI_API_KEY, and perhaps OPENAI_BASE_URL and MODEL, for a model; without, a stand-in repeats what
is said. Reload the page in the middle of an answer: it goes on. Everything is in service.db.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import uvicorn
from fastapi import Depends, FastAPI, Header, Request
from fastapi.responses import FileResponse, JSONResponse, StreamingResponse
from pydantic import BaseModel

import sapwood
from sapwood.errors import AlreadyExistsError, NotFoundError, SapwoodError
from sapwood.formats import input_to_openai_chat
from sapwood.model import Message, ModelInput
from sapwood.streaming import SSE_HEADERS, ErrorEvent, StreamEvent, TextEvent, events_to_sse

PAGE = Path(__file__).with_suffix(".html")
Model = Callable[[ModelInput], Awaitable[Any]]
Events = asyncio.Queue[StreamEvent | None]


class Question(BaseModel):
    """What a browser sends: the message's id is its own, so that it may be sent twice."""

    id: str
    text: str


def sessions_of(request: Request, x_user: Annotated[str, Header()]) -> sapwood.AsyncSessionManager:
    """Return the user's sessions. Who the user is, is said by what stands in front and logs in."""
    manager: sapwood.AsyncSessionManager = request.app.state.sessions
    return manager.for_owner(x_user)


Sessions = Annotated[sapwood.AsyncSessionManager, Depends(sessions_of)]


def make_app(url: str, model: Model) -> FastAPI:
    """Make the service on a store and a model."""
    answers: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with sapwood.open_async(url) as app.state.sessions:
            yield
            # What is still being answered is cut off, and marked so, before the store is closed.
            for answer in answers:
                answer.cancel()
            await asyncio.gather(*answers, return_exceptions=True)

    app = FastAPI(lifespan=lifespan)

    @app.exception_handler(SapwoodError)
    async def refuse(request: Request, error: SapwoodError) -> JSONResponse:
        status = 404 if isinstance(error, NotFoundError) else 400
        return JSONResponse({"error": error.code, "detail": str(error)}, status)

    @app.get("/")
    async def page() -> FileResponse:
        return FileResponse(PAGE)

    @app.get("/sessions")
    async def side_bar(sessions: Sessions) -> list[dict[str, Any]]:
        page = await sessions.list_sessions(previews=True, unread_for=sessions.owner, limit=50)
        return [
            {
                "id": record.id,
                "title": record.title or "New chat",
                "preview": record.preview.text if record.preview else "",
                "when": ago(record.updated_at, datetime.now(UTC)),
                "unread": record.unread,
            }
            for record in page.sessions
        ]

    @app.get("/sessions/{id}/messages")
    async def messages(id: str, sessions: Sessions) -> list[dict[str, Any]]:
        chat = await sessions.get(id)
        await chat.mark_read(sessions.owner)
        return [told(message) for message in (await chat.history(limit=100)).messages_only]

    @app.post("/sessions/{id}/messages")
    async def ask(id: str, question: Question, sessions: Sessions) -> StreamingResponse:
        chat = await sessions.session(id, lazy=True, title=question.text[:40])
        events: Events = asyncio.Queue()
        # A task of its own: the answer goes on when the browser is gone.
        answer = asyncio.create_task(answered(chat, question, model, events))
        answers.add(answer)
        answer.add_done_callback(answers.discard)
        heard = read_by(sessions.owner, chat, until_none(events))
        return StreamingResponse(events_to_sse(heard), headers=SSE_HEADERS)

    @app.get("/sessions/{id}/messages/{message}/events")
    async def follow(id: str, message: str, sessions: Sessions) -> StreamingResponse:
        chat = await sessions.get(id)
        await chat.get(message)
        heard = read_by(sessions.owner, chat, growing(chat, message))
        return StreamingResponse(events_to_sse(heard), headers=SSE_HEADERS)

    @app.post("/sessions/{id}/stop")
    async def stop(id: str, sessions: Sessions) -> bool:
        return await (await sessions.get(id)).stop_turn()

    return app


async def answered(
    chat: sapwood.AsyncSession, question: Question, model: Model, events: Events
) -> None:
    """Take a turn: the question, and the model's answer, which is stored while it comes."""
    try:
        async with chat.turn() as turn:
            await turn.append("user", question.text, id=question.id)
            async with turn.stream(await model(await turn.prepare())) as stream:
                async for event in stream:
                    events.put_nowait(event)
    except AlreadyExistsError:
        # It was sent twice, and is answered once.
        record = await chat.find_turn(question.id)
        if record is not None and record.last is not None:
            events.put_nowait(TextEvent(text=(await chat.get(record.last)).text))
    except SapwoodError as error:
        events.put_nowait(ErrorEvent(message=str(error), code=error.code))
    except Exception as error:  # noqa: BLE001 - whatever the model's client raises
        events.put_nowait(ErrorEvent(message="The model failed.", code=type(error).__name__))
    finally:
        events.put_nowait(None)


async def until_none(events: Events) -> AsyncIterator[StreamEvent]:
    while (event := await events.get()) is not None:
        yield event


async def read_by(
    user: str, chat: sapwood.AsyncSession, events: AsyncIterator[StreamEvent]
) -> AsyncIterator[StreamEvent]:
    """Hand events on; a browser that is there at the end has shown the answer."""
    async for event in events:
        yield event
    with suppress(NotFoundError):  # The question was refused, and so is in no session.
        await chat.mark_read(user)


async def growing(chat: sapwood.AsyncSession, id: str) -> AsyncIterator[StreamEvent]:
    """Follow an answer that somebody else asked for, or this browser before it was reloaded."""
    seen = 0
    async for message in chat.iter_answer(id):
        if len(message.text) > seen:
            yield TextEvent(text=message.text[seen:])
            seen = len(message.text)


def told(message: Message) -> dict[str, Any]:
    """Give a message as the page shows it; a partial one is followed, a cut one marked."""
    state = message.extra.get("turn", {}).get("state")
    return {"id": message.id, "role": message.role, "text": message.text, "state": state}


def ago(then: datetime, now: datetime) -> str:
    seconds = int((now - then).total_seconds())
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit} ago"
    return "now"


async def ask_openai(given: ModelInput) -> Any:
    from openai import AsyncOpenAI

    return await AsyncOpenAI().chat.completions.create(
        model=os.environ.get("MODEL", "gpt-5-mini"),
        stream=True,
        stream_options={"include_usage": True},
        **input_to_openai_chat(given),
    )


async def stand_in(given: ModelInput) -> AsyncIterator[str]:
    async def words() -> AsyncIterator[str]:
        for word in f"You said: {given.messages[-1].text}".split(" "):
            await asyncio.sleep(0.1)
            yield f"{word} "

    return words()


def main() -> None:
    model = ask_openai if "OPENAI_API_KEY" in os.environ else stand_in
    uvicorn.run(make_app("sqlite:///service.db", model), port=8000, timeout_graceful_shutdown=5)


if __name__ == "__main__":
    main()
