"""langgraph: `AsyncSqliteSaver`, the checkpointer of a graph with a list of messages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar
from uuid import uuid4

from conversation import KEPT, SUMMARY
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from peer import Peer, Settings

from sapwood.model import NewMessage, TextPart, ToolCallPart

_CHANNEL = "messages"
_NODE = "model"


def _thread(session: str) -> Any:
    return {"configurable": {"thread_id": session, "checkpoint_ns": ""}}


def _said_in(head: Any) -> Any:
    return head.checkpoint["channel_values"].get(_CHANNEL, [])


class LanggraphSaver(Peer):
    """`AsyncSqliteSaver`, called as a graph calls it: each message is a new checkpoint.

    The writer holds the list of messages in memory, as a running graph does, so that an append
    is one `aput`. A graph's own `ainvoke` stores two checkpoints or more for each step.
    """

    name: ClassVar[str] = "langgraph AsyncSqliteSaver"
    package: ClassVar[str] = "langgraph-checkpoint-sqlite"
    how: ClassVar[str] = (
        "one `aput` of the checkpoint with one message more, by a writer that holds the list; "
        "`aget_tuple`; a fork is `aupdate_state` at the checkpoint; among many writers each "
        "reads the checkpoint first; compacted by langchain's `SummarizationMiddleware` "
        "(`abefore_model`), with langchain's own fake model, and one `aput` of what it gave"
    )
    cannot: ClassVar[frozenset[str]] = frozenset({"search"})
    compacts: ClassVar[bool] = True

    async def open(self, path: Path) -> None:
        """Open the saver, and compile a graph with it."""
        self._opened = AsyncSqliteSaver.from_conn_string(str(path))
        self._saver = await self._opened.__aenter__()
        graph = StateGraph(MessagesState)
        graph.add_node(_NODE, lambda state: {_CHANNEL: []})
        graph.add_edge(START, _NODE)
        graph.add_edge(_NODE, END)
        self._graph: Any = graph.compile(checkpointer=self._saver)
        self._heads: dict[str, Any] = {}

    async def close(self) -> None:
        """Close the saver."""
        await self._opened.__aexit__(None, None, None)

    async def settings(self) -> Settings:
        """Ask the saver's connection."""
        [[journal]] = await self._saver.conn.execute_fetchall("PRAGMA journal_mode")
        [[synchronous]] = await self._saver.conn.execute_fetchall("PRAGMA synchronous")
        return Settings(journal, synchronous)

    async def create(self, session: str) -> None:
        """Begin a thread, or take up what it holds."""
        if await self._saver.aget_tuple(_thread(session)) is None:
            await self._graph.aupdate_state(_thread(session), {_CHANNEL: []}, as_node=_NODE)
        self._heads[session] = await self._saver.aget_tuple(_thread(session))

    def ready(self, message: NewMessage) -> Any:
        """Make a message of langchain."""
        part = message.parts[0]
        if isinstance(part, TextPart):
            kind = HumanMessage if message.role == "user" else AIMessage
            return kind(content=part.text, id=str(uuid4()))
        if isinstance(part, ToolCallPart):
            call: Any = {"id": part.call_id, "name": part.name, "args": part.input}
            return AIMessage(content="", id=str(uuid4()), tool_calls=[call])
        return ToolMessage(content=part.output, id=str(uuid4()), tool_call_id=part.call_id)

    async def fill(self, session: str, talk: Sequence[NewMessage]) -> None:
        """Store the whole conversation as one update."""
        said = [self.ready(message) for message in talk]
        await self._graph.aupdate_state(_thread(session), {_CHANNEL: said}, as_node=_NODE)
        self._heads[session] = await self._saver.aget_tuple(_thread(session))

    async def append(self, session: str, message: Any) -> None:
        """Put the next checkpoint."""
        self._heads[session] = await self._put(self._heads[session], message)

    async def append_among(self, session: str, message: Any) -> None:
        """Read the latest checkpoint, and put the next one."""
        await self._put(await self._saver.aget_tuple(_thread(session)), message)

    async def _put(self, head: Any, message: Any) -> Any:
        """Put a checkpoint that has one message more than another."""
        return await self._put_list(head, [*_said_in(head), message])

    async def _put_list(self, head: Any, said: list[Any]) -> Any:
        """Put a checkpoint that has another list of messages."""
        old, new = head.checkpoint, empty_checkpoint()
        version = self._saver.get_next_version(old["channel_versions"].get(_CHANNEL), None)
        checkpoint: Any = {
            **old,
            "id": new["id"],
            "ts": new["ts"],
            "channel_values": {**old["channel_values"], _CHANNEL: said},
            "channel_versions": {**old["channel_versions"], _CHANNEL: version},
        }
        metadata: Any = {**head.metadata, "step": head.metadata["step"] + 1}
        config = await self._saver.aput(head.config, checkpoint, metadata, {_CHANNEL: version})
        return head._replace(config=config, checkpoint=checkpoint, metadata=metadata)

    async def load(self, session: str) -> Any:
        """Get the latest checkpoint's list."""
        return _said_in(await self._saver.aget_tuple(_thread(session)))

    async def last(self, session: str, count: int) -> Any:
        """Get the end of that list: there is no smaller read."""
        return (await self.load(session))[-count:]

    async def begin_compactable(self, session: str) -> None:
        """Begin a thread."""
        await self.create(session)
        self._middleware: Any = SummarizationMiddleware(
            FakeListChatModel(responses=[SUMMARY]),
            trigger=("messages", KEPT + 1),
            keep=("messages", KEPT),
        )

    async def compact(self, session: str) -> None:
        """Let the middleware summarise the list, as it does before a model is called."""
        head = self._heads[session]
        update = await self._middleware.abefore_model({_CHANNEL: _said_in(head)}, None)
        said: Any = add_messages(_said_in(head), update[_CHANNEL])
        self._heads[session] = await self._put_list(head, said)

    async def shown(self, session: str) -> int:
        """Count the messages of the latest checkpoint."""
        return len(await self.load(session))

    def text_of(self, item: Any) -> str:
        """Return a message's text."""
        return str(item.content)

    def fork(self, session: str, number: int) -> Any:
        """Make a branch from the checkpoint."""
        config = self._heads[session].config
        return self._graph.aupdate_state(config, {_CHANNEL: []}, as_node=_NODE)
