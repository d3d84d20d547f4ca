"""One row of the table: what was measured, the bar, and whether it holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Literal

from measure import Turns, of_all

Rule = Literal["at most", "at least"]

JUDGED_FROM_US = 200.0
"""The bars at FULL count where a raw commit costs at least this."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """A measured piece of work.

    `value` is what the bar is held against: the ratio, or for a row with an absolute bar what ours
    takes above raw. `is_at_full` marks the bars that depend on what a commit costs on this disk,
    `is_aside` the rows that are shown and never judged.
    """

    work: str
    unit: str
    ours: float
    raw: float
    ratio: float
    value: float
    bar: float
    rule: Rule
    is_at_full: bool
    is_aside: bool = False
    p50_us: float | None = None
    p99_us: float | None = None
    per_s: float | None = None

    @property
    def holds(self) -> bool:
        """Whether the bar holds, without rounding."""
        return self.value <= self.bar if self.rule == "at most" else self.value >= self.bar

    @property
    def used(self) -> float:
        """Return the share of the bar that is used up: at most 1 when it holds."""
        return self.value / self.bar if self.rule == "at most" else self.bar / self.value


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A row, and what one raw commit cost while it was measured."""

    row: Row
    raw_commit_us: float

    @property
    def is_judged(self) -> bool:
        """Whether the bar counts on this disk."""
        row = self.row
        return not row.is_aside and (not row.is_at_full or self.raw_commit_us >= JUDGED_FROM_US)

    @property
    def is_broken(self) -> bool:
        """Whether a bar that counts does not hold."""
        return self.is_judged and not self.row.holds

    @property
    def verdict(self) -> str:
        """Return in a few words how it did."""
        if self.is_judged:
            return "holds" if self.row.holds else "DOES NOT HOLD"
        return "would hold, not judged" if self.row.holds else "would not hold, not judged"


def slower(
    work: str, turns: Turns, bar: float, *, at_full: bool = False, share: float = 0.5
) -> Row:
    """Hold the time of ours against that of raw: at most `bar` times."""
    ratio = turns.ratio(share)
    p50 = of_all(turns.ours, 0.5)
    return Row(
        work=work,
        unit="µs",
        ours=of_all(turns.ours, share),
        raw=of_all(turns.raw, share),
        ratio=ratio,
        value=ratio,
        bar=bar,
        rule="at most",
        is_at_full=at_full,
        p50_us=p50,
        p99_us=of_all(turns.ours, 0.99),
        per_s=1e6 / p50,
    )


def alike(work: str, turns: Turns, bar: float) -> Row:
    """Hold two sides at FULL against each other: neither is more than `bar` times the other."""
    row = slower(work, turns, bar, at_full=True)
    more = max(row.ratio, 1 / row.ratio)
    return replace(row, ratio=more, value=more)


def faster(
    work: str,
    ours_per_s: Sequence[float],
    raw_per_s: Sequence[float],
    bar: float,
    *,
    times: Sequence[Sequence[float]] = (),
    at_full: bool = True,
) -> Row:
    """Hold the throughput of ours against that of raw, round by round: at least `bar` times."""
    ratio = median(ours / raw for ours, raw in zip(ours_per_s, raw_per_s, strict=True))
    return Row(
        work=work,
        unit="/s",
        ours=median(ours_per_s),
        raw=median(raw_per_s),
        ratio=ratio,
        value=ratio,
        bar=bar,
        rule="at least",
        is_at_full=at_full,
        p50_us=of_all(times, 0.5) if times else None,
        p99_us=of_all(times, 0.99) if times else None,
        per_s=median(ours_per_s),
    )


def times_more(work: str, turns: Turns, without_us: float, bar: float) -> Row:
    """Hold what ours takes more than without something against raw: at most `bar` times."""
    ours, raw = of_all(turns.ours, 0.5), of_all(turns.raw, 0.5)
    value = (ours - without_us) / raw
    return replace(slower(work, turns, bar), ratio=value, value=value)


def larger(work: str, unit: str, ours: float, raw: float, bar: float) -> Row:
    """Hold a size against the raw one: at most `bar` times."""
    return _plain(work, unit, ours, raw, bar, ours / raw)


def above(work: str, unit: str, ours: float, raw: float, bar: float, *, aside: bool = False) -> Row:
    """Hold what ours takes more than raw against an absolute bar."""
    return _plain(work, unit, ours, raw, bar, ours - raw, aside)


def _plain(
    work: str, unit: str, ours: float, raw: float, bar: float, value: float, aside: bool = False
) -> Row:
    return Row(
        work=work,
        unit=unit,
        ours=ours,
        raw=raw,
        ratio=ours / raw,
        value=value,
        bar=bar,
        rule="at most",
        is_at_full=False,
        is_aside=aside,
    )
