"""What a check tells of, in the same words for every relational store."""

from __future__ import annotations

from ...model import Problem
from ...rules.wording import counted
from .position import public
from .rows import SessionRow


def segment_problem(number: int, what: str) -> Problem:
    """Return that a segment is not as the message it follows says."""
    return Problem(kind="segment", where=str(number), what=what)


def data_problem(pos: int, what: str) -> Problem:
    """Return that a version of the data is not as it should be."""
    at = public(pos)
    return Problem(kind="data", where=f"{at.segment}.{at.depth}", what=what)


def lost_mark(pos: int) -> Problem:
    """Return that a mark is there without its data, which can only come back from a backup."""
    return data_problem(pos, "it is not there, and a mark says that it should be")


def wrong_sum(message: str) -> Problem:
    """Return that a message's running sum is not that before it and its own tokens."""
    return Problem(kind="message", where=message, what="its running sum of tokens is wrong")


def misplaced_overlay(number: int) -> Problem:
    """Return that an overlay is found where it does not belong."""
    what = "it is in force at a place that is not its own"
    return Problem(kind="overlay", where=str(number), what=what)


def session_problem(row: SessionRow, what: str) -> Problem:
    """Return that something is wrong with a session."""
    return Problem(kind="session", where=row.id, what=what)


def wrong_figures(row: SessionRow, live: int, in_force: int, context: int | None) -> list[Problem]:
    """Return what of a session's figures is not as it was counted anew."""
    figures = [
        (
            row.active_at // 1_000_000 == row.active_s,
            "it is listed at another second than that of its last activity",
        ),
        (live == row.messages, f"it counts {counted(row.messages, 'message')} and has {live}"),
        (
            in_force == row.overlays,
            f"it counts {counted(row.overlays, 'overlay')} and has {in_force}",
        ),
        (
            row.context in (None, context),
            f"it counts {counted(row.context or 0, 'token')} shown and shows {context}",
        ),
    ]
    return [session_problem(row, what) for is_right, what in figures if not is_right]
