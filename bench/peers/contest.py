"""One package beside ours and the raw driver, each with a file of its own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

from comparison import TIME, Comparison
from conversation import TEXTS_IN_TURN, mixed, numbered, talk, text_of
from messages import DISTINCT, ONE_TOOL_RESULT_IN
from ours import Durability, Ours, OursSync
from peer import Peer, Settings, answer_of
from raw import RawTable, schema_of
from world import go_round

LONG = "long"
ROUNDS = 5


@dataclass(frozen=True)
class Sizes:
    """How much is built and measured."""

    long: int = 10_000
    short: int = 100
    most: int = 100
    short_most: int = 20
    budget_s: float = 2.0
    warm: int = 50
    written: int = 1_000
    compacted: int = 400


QUICK = Sizes(
    long=500, short=20, most=5, short_most=4, budget_s=0.2, warm=5, written=50, compacted=100
)


def short(number: int) -> str:
    """Name the short session of a round."""
    return f"short-{number}"


class Contest:
    """A package, ours at the same durability and for the same kind of caller, and raw."""

    def __init__(self, make: Callable[[], Peer], folder: Path, sizes: Sizes) -> None:
        self.make = make
        self.folder = folder
        self.sizes = sizes
        self.peer = make()
        self.talk = talk(sizes.long)

    async def open(self) -> None:
        """Open the package's file, see how it writes, and open ours and raw alike."""
        await answer_of(self.peer.open(self.file_of("peer")))
        await answer_of(self.peer.create(LONG))
        self.settings: Settings = await answer_of(self.peer.settings())
        self.durability: Durability = "full" if self.settings.survives_power_cut else "normal"
        self.ours = self.make_ours()
        await answer_of(self.ours.open(self.file_of("ours")))
        await answer_of(self.ours.create(LONG))
        self.schema = schema_of(self.file_of("ours"))
        self.table = self.new_table("raw")
        self.raw = raw_append(self.table)
        go_round(self.table.path, self.raw)

    async def build(self) -> None:
        """Store the long conversation and the short ones, and check that they can be read."""
        for side in (self.peer, self.ours):
            await answer_of(side.fill(LONG, self.talk))
            for number in range(ROUNDS):
                await answer_of(side.create(short(number)))
                await answer_of(side.fill(short(number), self.talk[: self.sizes.short]))
            await self._warm(side)
            self._verify(side, await answer_of(side.load(LONG)))

    async def _warm(self, side: Peer) -> None:
        await answer_of(side.create("warm"))
        for message in islice(numbered(), self.sizes.warm):
            await answer_of(side.append("warm", side.ready(message)))

    def _verify(self, side: Peer, loaded: list[Any]) -> None:
        assert len(loaded) == len(self.talk), f"{side.name} gave {len(loaded)}"
        for number, (item, said) in enumerate(zip(loaded, self.talk, strict=True)):
            if number % ONE_TOOL_RESULT_IN < TEXTS_IN_TURN:
                assert side.text_of(item) == text_of(said), f"{side.name}, message {number}"

    async def close(self) -> None:
        """Close all three."""
        await answer_of(self.peer.close())
        await answer_of(self.ours.close())
        self.table.close()

    def make_ours(self) -> Ours | OursSync:
        """Make our side as the package is: for a loop or for threads, and as durable."""
        return (Ours if self.peer.is_async else OursSync)(self.durability)

    def new_table(self, name: str) -> RawTable:
        """Make a raw table that is as durable."""
        return RawTable(self.file_of(name), self.schema, self.durability)

    def file_of(self, name: str) -> Path:
        """Name a file."""
        return self.folder / f"{type(self.peer).__name__}-{name}.db"

    def rounds(self, first_us: float) -> tuple[int, int]:
        """Return how many rounds there are, and how many calls in each, after one took so long."""
        count = int(self.sizes.budget_s * 1e6 / first_us)
        if count == 0:
            return 3, 1
        return ROUNDS, min(max(count, 3), self.sizes.most)

    def row(self, work: str, **found: Any) -> Comparison:
        """Make a row."""
        return Comparison(
            **{"unit": TIME, **found},
            work=work,
            package=self.peer.name,
            version=version(self.peer.package),
            durability=str(self.settings),
        )


def raw_append(table: RawTable) -> Callable[[], None]:
    """Return a call that inserts and commits the next row; its contents are ready."""
    rows = table.endless(mixed(DISTINCT))

    def append() -> None:
        table.append(next(rows))

    return append


def messages_for(side: Peer, count: int) -> Iterator[Any]:
    """Make messages ready for a side."""
    return iter([side.ready(message) for message in mixed(count)])


def as_json(value: object) -> str:
    """Return JSON that a person can read."""
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"
