"""What a record means for the change feed."""

from __future__ import annotations

from ...model import Change, ChangeKind
from .work import Append, Clear, Edit, Erase, Retire, Work


def changes_of(work: Work, session: str) -> list[Change]:
    """Give the changes of a record, in order."""

    def change(kind: ChangeKind, at_us: int, id: str | None, depth: int | None) -> Change:
        return Change(kind=kind, session=session, message=id, depth=depth, at_us=at_us)

    if isinstance(work, Append):
        return [
            change(ChangeKind.APPEND, work.at_us, said.id, depth)
            for depth, said in enumerate(work.said, work.first)
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
