"""Usage, message by message: sums can be read, so what is missing of a sum is added to it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from operator import attrgetter

from ...model import Usage, UsageTotal
from ..named_session import NamedSession
from .sides import DifferenceKind, Differences

FIGURES = ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens", "cost_micros")
_key = attrgetter("message", "model")


def compare_usage(
    wanted: Sequence[UsageTotal], there: Sequence[UsageTotal], differences: Differences
) -> None:
    """Compare the sums of both sides."""
    left = {_key(it): it for it in there}
    for total in wanted:
        calls, *figures = lacking = _lacking(total, left.pop(_key(total), None))
        if any(lacking):
            can_be_added = calls > 0 and min(figures) >= 0
            kind = DifferenceKind.MISSING if can_be_added else DifferenceKind.APART
            differences.add(kind, f"the usage of {_named(total)} is not the same")
    for total in left.values():
        differences.add(DifferenceKind.APART, f"the usage of {_named(total)} is not in the source")


def add_missing_usage(session: NamedSession, wanted: Sequence[UsageTotal]) -> None:
    """Add what a session lacks: the first new call of a sum has all of it, the others nothing."""
    store, owner, name = session
    there = {_key(it): it for it in store.total_usage(owner, name, by="message")}
    for total in wanted:
        for usage in _missing(total, there.get(_key(total))):
            store.add_usage(owner, name, usage)


def _missing(total: UsageTotal, stored: UsageTotal | None) -> Iterator[Usage]:
    calls, *figures = _lacking(total, stored)
    name = f"{total.message is None}\0{total.message}\0{total.model}"
    digest = hashlib.sha256(name.encode()).hexdigest()[:16]
    first = 0 if stored is None else stored.calls
    for number in range(first, first + calls):
        given = dict(zip(FIGURES, figures, strict=True)) if number == first else {}
        # By its number among the calls: none that was there before can have it.
        yield Usage(id=f"copy-{digest}-{number}", model=total.model, message=total.message, **given)


def _lacking(total: UsageTotal, stored: UsageTotal | None) -> list[int]:
    names = ("calls", *FIGURES)
    return [getattr(total, name) - (getattr(stored, name) if stored else 0) for name in names]


def _named(total: UsageTotal) -> str:
    model = f"model {total.model!r}"
    return model if total.message is None else f"message {total.message!r}, {model}"
