"""The packages that store on the same servers: measured beside ours, on the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import count
from time import perf_counter
from typing import Any, ClassVar

import redis.asyncio
from agents.extensions.memory import RedisSession, SQLAlchemySession
from comparison import Comparison, by_rate, by_time
from conversation import talk
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from measure import ROUNDS, calm
from ours import Ours
from peer import Peer, answer_of
from rounds import take_turns
from sqlalchemy.ext.asyncio import create_async_engine
from with_langgraph import LanggraphSaver
from with_openai import SqliteSessions

import sapwood

LENGTH = 1_000
WRITERS = 64
EACH = 10


class OnServer(Ours):
    """Ours, by a URL; each package is compared with sessions of an owner of its own."""

    def __init__(self, url: str, owner: str) -> None:
        super().__init__("full")
        self._url = url
        self._owner = owner

    async def open(self, path: Any = None) -> None:
        """Open the store."""
        self._sessions = sapwood.open_async(self._url, owner=self._owner)


class AlchemySessions(SqliteSessions):
    """openai-agents `SQLAlchemySession`, with an engine of its defaults."""

    name: ClassVar[str] = "openai-agents SQLAlchemySession"

    def __init__(self, url: str) -> None:
        self._url = url

    async def open(self, path: Any = None) -> None:
        """Make an engine."""
        driver = "postgresql+psycopg" if "postgres" in self._url else "mysql+aiomysql"
        self._engine = create_async_engine(f"{driver}://{self._url.partition('://')[2]}")
        self._sessions = {}

    async def close(self) -> None:
        """Close the engine."""
        await self._engine.dispose()

    async def create(self, session: str) -> None:
        """Open a session."""
        self._sessions[session] = SQLAlchemySession(
            session, engine=self._engine, create_tables=True
        )


class RedisSessions(SqliteSessions):
    """openai-agents `RedisSession`, on one client."""

    name: ClassVar[str] = "openai-agents RedisSession"

    def __init__(self, url: str) -> None:
        self._url = url

    async def open(self, path: Any = None) -> None:
        """Make a client."""
        self._client = redis.asyncio.from_url(self._url)
        self._sessions = {}

    async def close(self) -> None:
        """Close the client."""
        await self._client.aclose()

    async def create(self, session: str) -> None:
        """Open a session."""
        self._sessions[session] = RedisSession(session, redis_client=self._client)


class PostgresSaver(LanggraphSaver):
    """langgraph `AsyncPostgresSaver`."""

    name: ClassVar[str] = "langgraph AsyncPostgresSaver"

    def __init__(self, url: str) -> None:
        self._url = url

    async def open(self, path: Any = None) -> None:
        """Open the saver, and compile a graph with it."""
        self._opened: Any = AsyncPostgresSaver.from_conn_string(self._url)
        self._saver = await self._opened.__aenter__()
        await self._saver.setup()
        graph = StateGraph(MessagesState)
        graph.add_node("model", lambda state: {"messages": []})
        graph.add_edge(START, "model")
        graph.add_edge("model", END)
        self._graph = graph.compile(checkpointer=self._saver)
        self._heads = {}


async def compare(peer: Peer, url: str, share: float) -> list[Comparison]:
    """Measure a package and ours, taking turns."""
    ours = OnServer(url, peer.name)
    said = talk(LENGTH)
    for side in (ours, peer):
        await answer_of(side.open(None))  # type: ignore[arg-type]
        await answer_of(side.create("long"))
        await answer_of(side.fill("long", said))
    rows = [
        await _timed("append at 1,000", peer, ours, share, "append"),
        await _timed("1,000 loaded", peer, ours, share, "load"),
        await _timed("last 50 of 1,000", peer, ours, share, "last"),
        await _crowd(peer, ours),
    ]
    for side in (ours, peer):
        await answer_of(side.close())
    return rows


async def _timed(work: str, peer: Peer, ours: Peer, share: float, how: str) -> Comparison:
    new = talk(LENGTH)
    places = count()

    def call(side: Peer) -> Any:
        if how == "load":
            return side.load("long")
        if how == "last":
            return side.last("long", 50)
        return side.append("long", side.ready(new[next(places) % LENGTH]))

    calls = [lambda: call(ours), lambda: call(peer)]
    for one in calls:
        await answer_of(one())
    times = await take_turns(calls, ROUNDS, max(3, round(20 * share)))
    return _row(work, peer.name, **by_time(times[0], times[1], times[1]))


async def _crowd(peer: Peer, ours: Peer) -> Comparison:
    names = [f"one of many {number}" for number in range(WRITERS)]
    rates: list[list[float]] = [[], []]
    for side in (ours, peer):
        for name in names:
            await answer_of(side.create(name))
    for number in range(ROUNDS + 1):
        for place, side in enumerate((ours, peer)):
            calm()
            rate = await _rate(side, names)
            if number:
                rates[place].append(rate)
    return _row("64 writers to 64 sessions", peer.name, **by_rate(rates[0], rates[1], rates[1]))


async def _rate(side: Peer, names: Sequence[str]) -> float:
    new = [side.ready(message) for message in talk(EACH)]

    async def write(name: str) -> None:
        for message in new:
            await answer_of(side.append_among(name, message))

    begun = perf_counter()
    await asyncio.gather(*(write(name) for name in names))
    return len(names) * EACH / (perf_counter() - begun)


def _row(work: str, package: str, **figures: Any) -> Comparison:
    return Comparison(work=work, package=package, version="", durability="", **figures)
