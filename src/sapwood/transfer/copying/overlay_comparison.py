"""Overlays of both sides, matched by their ids or by what they say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..lines import OverlayLine
from .differences import DifferenceKind, Differences, is_same


class MatchedOverlays(NamedTuple):
    """What is left when the overlays that both sides have are put together."""

    missing: list[OverlayLine]
    changed: list[OverlayLine]
    """Those of the source that are on the target with other content."""
    extra: list[OverlayLine]
    renamed: dict[str, OverlayLine]
    """Those of the source that have another id on the target, by that id."""


def match_overlays(wanted: Sequence[OverlayLine], there: Sequence[OverlayLine]) -> MatchedOverlays:
    """Match overlays. Two forks may share one that their source has undone: it has another id."""
    left = {line.id: line for line in there}
    matched = MatchedOverlays([], [], [], {})
    for line in wanted:
        stored = left.pop(line.id, None)
        if stored is None:
            matched.missing.append(line)
        elif not _is_equal(line, stored):
            matched.changed.append(line)
    for line in list(matched.missing):
        twin = next((it for it in left.values() if _is_equal(line, it)), None)
        if twin is not None:
            del left[twin.id]
            matched.missing.remove(line)
            matched.renamed[twin.id] = line
    matched.extra.extend(left.values())
    return matched


def compare_overlays(
    wanted: Sequence[OverlayLine], there: Sequence[OverlayLine], differences: Differences
) -> None:
    """Compare overlays."""
    matched = match_overlays(wanted, there)
    for line in matched.missing:
        differences.add(DifferenceKind.MISSING, f"overlay {line.id!r} is missing")
    for line in matched.changed:
        differences.add(DifferenceKind.CHANGED, f"overlay {line.id!r} is another")
    for line in matched.extra:
        differences.add(
            DifferenceKind.CHANGED, f"overlay {line.id!r} is not in force in the source"
        )
    if not differences.count():
        _compare_order(wanted, there, matched, differences)


def _compare_order(
    wanted: Sequence[OverlayLine],
    there: Sequence[OverlayLine],
    matched: MatchedOverlays,
    differences: Differences,
) -> None:
    """See that those over the same range came one after the other as in the source."""
    ids = {id: line.id for id, line in matched.renamed.items()}
    here = _by_range(there)
    for ends, order in _by_range(wanted).items():
        if [ids.get(id, id) for id in here[ends]] != order:
            differences.add(
                DifferenceKind.CHANGED, f"overlay {order[-1]!r} is not the newest of its range"
            )


def _by_range(lines: Sequence[OverlayLine]) -> dict[tuple[str, str], list[str]]:
    found: dict[tuple[str, str], list[str]] = {}
    for line in lines:
        found.setdefault((line.first, line.last), []).append(line.id)
    return found


def _is_equal(one: OverlayLine, other: OverlayLine) -> bool:
    return is_same(_content(one), _content(other))


def _content(line: OverlayLine) -> tuple[object, ...]:
    return line.first, line.last, line.summary, line.tokens, line.metadata
