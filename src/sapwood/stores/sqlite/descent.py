"""The homes that a fork's path leads through, by links from each to the one above it.

A chain of links may lead through homes that lie off the path: a session can go on from a place
above its fork point. So what is found through one is still to be looked for on the path.
"""

from __future__ import annotations

from .connection import Connection

ABOVE = (
    "WITH RECURSIVE up (home) AS (SELECT above FROM descent WHERE home = ?1"
    " UNION ALL SELECT d.above FROM up JOIN descent d ON d.home = up.home)"
)
"""Names the homes above the home ?1 `up`, the nearest first."""
BELOW = (
    "WITH RECURSIVE down (home) AS (SELECT home FROM descent WHERE above = ?1"
    " UNION ALL SELECT d.home FROM down JOIN descent d ON d.above = down.home)"
)
"""Names the homes below the home ?1 `down`."""


def homes_above(tx: Connection, home: int) -> list[int]:
    """Return the homes on the path to a fork point, and maybe more."""
    return [above for (above,) in tx.rows(f"{ABOVE} SELECT home FROM up", (home,))]


def descend(tx: Connection, home: int, pos: int) -> None:
    """Let a home stand on that of a message."""
    tx.run("INSERT INTO descent SELECT ?, home FROM message WHERE pos = ?", (home, pos))


def leave(tx: Connection, home: int) -> None:
    """Remove a retired home's link, and then those that only it led through."""
    gone: int | None = home
    while gone is not None:
        gone = tx.value(
            "DELETE FROM descent WHERE home = ?1"
            " AND NOT EXISTS (SELECT 1 FROM descent WHERE above = ?1)"
            " AND (?1 = ?2 OR NOT EXISTS (SELECT 1 FROM session WHERE home = ?1))"
            " RETURNING above",
            (gone, home),
        )
