"""One row of the table: a piece of work, ours, a package and the raw driver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

from measure import of_all, percentile

TIME, RATE, BYTES = "µs", "/s", "B"

Rounds = Sequence[Sequence[float]]


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What was measured. `ratio` says how many times ours is ahead: below 1 it is behind.

    Without `peer` the package cannot do it, without `ours` this version of ours cannot.
    """

    work: str
    package: str
    version: str
    durability: str
    unit: str
    ours: float | None = None
    peer: float | None = None
    raw: float | None = None
    ratio: float | None = None
    landed: str | None = None
    ours_landed: str | None = None
    errors: dict[str, int] = field(default_factory=dict)

    @property
    def can(self) -> bool:
        """Whether the package can do it."""
        return self.peer is not None

    @property
    def ahead(self) -> bool | None:
        """Whether ours is ahead; None when the package cannot do it."""
        return None if not self.can else self.ratio is not None and self.ratio > 1

    def plain(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {**asdict(self), "can": self.can, "ahead": self.ahead}


def by_time(ours: Rounds, peer: Rounds, raw: Rounds) -> dict[str, Any]:
    """Compare times: medians over the rounds of each p50, and of the ratio in each round."""
    ratios = (percentile(b, 0.5) / percentile(a, 0.5) for a, b in zip(ours, peer, strict=True))
    return {
        "unit": TIME,
        "ours": of_all(ours, 0.5),
        "peer": of_all(peer, 0.5),
        "raw": of_all(raw, 0.5),
        "ratio": median(ratios),
    }


def by_rate(ours: Sequence[float], peer: Sequence[float], raw: Sequence[float]) -> dict[str, Any]:
    """Compare what was done in a second, round by round."""
    ratios = [a / b if b else float("inf") for a, b in zip(ours, peer, strict=True)]
    return {
        "unit": RATE,
        "ours": median(ours),
        "peer": median(peer),
        "raw": median(raw),
        "ratio": median(ratios),
    }


def by_size(ours: int, peer: int, raw: int) -> dict[str, Any]:
    """Compare numbers of bytes."""
    return {"unit": BYTES, "ours": ours, "peer": peer, "raw": raw, "ratio": peer / ours}
