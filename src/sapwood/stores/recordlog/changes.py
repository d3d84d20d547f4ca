"""What a record means for the change feed."""

from __future__ import annotations

from collections.abc import Sequence

from ...model import Change, ChangeKind
from .work import Append, Clear, Edit, Erase, LogWork, Retire

FeedPart = tuple[str, str, str, int, int]
"""A run of a log's records: the session's id, tree, log, the first and the last."""


def merged(parts: Sequence[FeedPart], stamps: Sequence[Sequence[int]]) -> list[FeedPart]:
    """Put records of several logs into one order, as runs; those without a stamp wait.

    Beyond the records whose stamps are known nothing is said of any log, so that none is ahead.
    """
    cut = [times[-1] for part, times in zip(parts, stamps, strict=True) if _is_cut(part, times)]
    until = min(cut, default=None)
    every = sorted(
        (stamp, index, part[3] + offset)
        for index, (part, times) in enumerate(zip(parts, stamps, strict=True))
        for offset, stamp in enumerate(times)
        if until is None or stamp <= until
    )
    runs: list[FeedPart] = []
    for _, index, n in every:
        session, tree, log, _, _ = parts[index]
        if runs and runs[-1][2] == log:
            runs[-1] = (*runs[-1][:4], n)
        else:
            runs.append((session, tree, log, n, n))
    return runs


def _is_cut(part: FeedPart, times: Sequence[int]) -> bool:
    return part[3] + len(times) - 1 < part[4]


def changes_of(work: LogWork, session: str) -> list[Change]:
    """Return the changes of a record, in order."""

    def change(kind: ChangeKind, at_us: int, id: str | None, depth: int | None) -> Change:
        return Change(kind=kind, session=session, message=id, depth=depth, at_us=at_us)

    if isinstance(work, Append):
        return [
            change(ChangeKind.APPEND, work.at_us, said.id, depth)
            for depth, said in enumerate(work.messages, work.first)
            if said.version
        ]
    if isinstance(work, Edit):
        return [change(ChangeKind.UPDATE, work.at_us, work.id, work.depth)]
    if isinstance(work, Erase):
        return [
            change(ChangeKind.DELETE, work.at_us, spot.id, spot.place[2])
            for spot in work.spots
            if spot.told
        ]
    if isinstance(work, Clear | Retire):
        return [change(ChangeKind.RETIRE, work.at_us, None, None)]
    return []
