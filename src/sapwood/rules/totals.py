"""Sums of usage over several sessions."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from ..model import UsageTotal


def add_up(totals: Iterable[UsageTotal]) -> list[UsageTotal]:
    """Add the sums of several sessions up, by model."""
    by_model: dict[str, UsageTotal] = {}
    for total in totals:
        known = by_model.get(total.model)
        by_model[total.model] = total if known is None else _sum(known, total)
    return [by_model[model] for model in sorted(by_model)]


def _sum(one: UsageTotal, other: UsageTotal) -> UsageTotal:
    names = (name for name in UsageTotal.__struct_fields__ if name not in ("model", "message"))
    sums = {name: getattr(one, name) + getattr(other, name) for name in names}
    return msgspec.structs.replace(one, **sums)
