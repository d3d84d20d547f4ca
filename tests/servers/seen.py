"""The servers that tests ran against, for the end of the run to tell."""

from __future__ import annotations

from collections.abc import Callable

RAN_AGAINST: set[str] = set()
_told: set[object] = set()


def note_once(kind: object, version: Callable[[], str]) -> None:
    """Take note of a kind of server that was started, when the first of it is."""
    if kind not in _told:
        _told.add(kind)
        RAN_AGAINST.add(version())
