"""Many conversations at once, in one process on an event loop: none gets mixed up with another.

    python examples/many_sessions.py

It asks no model, and leaves nothing behind.
"""

from __future__ import annotations

import asyncio
import tempfile

import sapwood
from sapwood import AsyncSession, AsyncSessionManager
from sapwood.model import ModelInput

SESSIONS = 200
TURNS = 5


async def model(given: ModelInput) -> str:
    """Stand in for a model: wait, as for a network, and answer what was asked."""
    await asyncio.sleep(0)
    return f"You said: {given.messages[-1].text}"


async def talk(sessions: AsyncSessionManager, number: int) -> AsyncSession:
    chat = await sessions.session(f"guest-{number}")
    for turn in range(TURNS):
        await chat.append("user", f"I am guest {number}, and this is my question {turn}.")
        await chat.append("assistant", await chat.call_model(model))
    return chat


async def is_whole(chat: AsyncSession) -> bool:
    """Tell whether a history has all that its guest was told, in order, and nothing else."""
    name = chat.id.replace("-", " ")
    asked = [f"I am {name}, and this is my question {turn}." for turn in range(TURNS)]
    expected = [text for said in asked for text in (said, f"You said: {said}")]
    return [message.text for message in (await chat.history()).messages_only] == expected


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with sapwood.open_async(f"sqlite:///{folder}/guests.db") as sessions:
            chats = await asyncio.gather(*(talk(sessions, number) for number in range(SESSIONS)))
            whole = [await is_whole(chat) for chat in chats]
            counted = await sessions.statistics()
    print(f"{counted.sessions} conversations at once, {counted.messages} messages,")
    print(f"{sum(whole)} of them whole and in order.")


if __name__ == "__main__":
    asyncio.run(main())
