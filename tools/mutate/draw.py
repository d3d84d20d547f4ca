"""What can be mutated, and which of it is."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import NamedTuple, TypeVar

import text_mutations
from mutation import KINDS, Mutation, Source
from packages import Package
from python_mutations import Finder

T = TypeVar("T")


class Drawn(NamedTuple):
    """A mutation with the package whose tests are to notice it."""

    package: Package
    mutation: Mutation


def find(root: Path, package: Package) -> Iterator[Mutation]:
    """Find all that can be made in a package, always in the same order."""
    for folder in package.folders:
        for path in sorted((root / "src/sapwood" / folder).rglob("*")):
            if path.suffix in {".py", ".sql", ".lua"} and "_sync" not in path.parts:
                source = Source(path.relative_to(root).as_posix(), path.read_text())
                found = (
                    Finder(source).find()
                    if path.suffix == ".py"
                    else text_mutations.in_file(source)
                )
                yield from found


def draw(root: Path, packages: Iterable[Package], seed: int, count: int) -> list[Drawn]:
    """Draw so many, from each package in turn, and there from each kind in turn."""
    chance = random.Random(seed)
    rows = [
        [Drawn(package, mutation) for mutation in _by_turns(find(root, package), chance, shift)]
        for shift, package in enumerate(packages)
    ]
    return list(islice(_in_turn(rows), count))


def _by_turns(found: Iterable[Mutation], chance: random.Random, shift: int) -> list[Mutation]:
    piles: dict[str, list[Mutation]] = {kind: [] for kind in KINDS}
    for mutation in found:
        piles[mutation.kind].append(mutation)
    for pile in piles.values():
        chance.shuffle(pile)
    first = shift % len(KINDS)  # else a draw of few has one kind only
    kinds = [*KINDS[first:], *KINDS[:first]]
    return list(_in_turn([piles[kind] for kind in kinds]))


def _in_turn(rows: list[list[T]]) -> Iterator[T]:
    return (it for it in chain.from_iterable(zip_longest(*rows)) if it is not None)
