"""Sums of what model calls cost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...model import Usage, UsageTotal


def by_model(recorded: Iterable[Usage]) -> list[UsageTotal]:
    """Sum by model, in the order of their names."""
    groups: dict[str, list[Usage]] = {}
    for usage in recorded:
        groups.setdefault(usage.model, []).append(usage)
    return [_total(None, model, groups[model]) for model in sorted(groups)]


def by_message(recorded: Iterable[Usage]) -> list[UsageTotal]:
    """Sum by message and model, in the order in which the first of each was recorded."""
    groups: dict[tuple[str | None, str], list[Usage]] = {}
    for usage in recorded:
        groups.setdefault((usage.message, usage.model), []).append(usage)
    return [_total(message, model, rows) for (message, model), rows in groups.items()]


def _total(message: str | None, model: str, rows: Sequence[Usage]) -> UsageTotal:
    return UsageTotal(
        message=message,
        model=model,
        calls=len(rows),
        input_tokens=sum(row.input_tokens for row in rows),
        output_tokens=sum(row.output_tokens for row in rows),
        cached_tokens=sum(row.cached_tokens for row in rows),
        reasoning_tokens=sum(row.reasoning_tokens for row in rows),
        cost_micros=sum(row.cost_micros for row in rows),
    )
