"""Rebuilding what is derived: indexes, lineages, running sums, and the figures of sessions.

What was said is never touched, nor is where it stands: messages, parents, tips.
"""

from __future__ import annotations

from ...rules.tree import extend_lineage
from ..relational.position import MAX_DEPTH, pack_lineage, unpack_place, whole_segment
from ..relational.rows import SessionRow
from .connection import Connection
from .lookup import SESSION_COLUMNS
from .sums import context_at, path_tokens
from .usage import rebuild_totals

WRONG_SUMS = """
SELECT m.id FROM message m
JOIN segment g ON g.number = m.pos >> 24
LEFT JOIN edit e ON e.pos = m.pos
LEFT JOIN message b ON b.pos = CASE
    WHEN (m.pos & 0xffffff) = (g.parent & 0xffffff) + 1 THEN g.parent ELSE m.pos - 1 END
WHERE m.path_tokens - coalesce(b.path_tokens, 0) <> m.tokens - coalesce(e.delta, 0)
"""

FORCE_FAULTS = """
SELECT f.overlay FROM in_force f LEFT JOIN overlay o ON o.number = f.overlay
WHERE o.number IS NULL OR f.last <> o.last OR f.first_depth <> o.first & 0xffffff
"""

ALL_SESSIONS = f"SELECT {SESSION_COLUMNS} FROM standing s"


def count_live(tx: Connection, session: SessionRow) -> int:
    """Count the messages that a session wrote and that were not deleted."""
    sql = "SELECT count(*) FROM message WHERE home = ? AND body IS NOT NULL"
    return int(tx.value(sql, (session.home,)))


def repair(tx: Connection) -> None:
    """Rebuild all of it, in the order in which one rests on the other."""
    if tx.value("PRAGMA integrity_check(1)") != "ok":
        # Everything after this is found by indexes.
        tx.rows("REINDEX")
    _rebuild_lineages(tx)
    _rebuild_sums(tx)
    _rebuild_force(tx)
    _rebuild_sessions(tx)
    rebuild_totals(tx)


def _rebuild_lineages(tx: Connection) -> None:
    # A segment follows one that was there before it, so that its number is lower.
    for number, parent, data in tx.rows("SELECT number, parent, lineage FROM segment ORDER BY 1"):
        place = unpack_place(parent)
        above = tx.row("SELECT 1 FROM segment WHERE number = ?", (place.segment,)) if place else 1
        if above is None:
            continue
        lineage = pack_lineage(extend_lineage(place, tx.lineage(place.segment) if place else []))
        if lineage != data:
            tx.run("UPDATE segment SET lineage = ? WHERE number = ?", (lineage, number))


def _rebuild_sums(tx: Connection) -> None:
    tx.run("DELETE FROM edit WHERE pos NOT IN (SELECT pos FROM message)", ())
    tx.run("UPDATE session SET edited = 1 WHERE EXISTS (SELECT 1 FROM edit)", ())
    if not tx.rows(f"{WRONG_SUMS} LIMIT 1"):
        return
    for number, parent in tx.rows("SELECT number, parent FROM segment ORDER BY 1"):
        running = tx.value("SELECT path_tokens FROM message WHERE pos = ?", (parent,)) or 0
        _rebuild_segment_sums(tx, number, running)


def _rebuild_segment_sums(tx: Connection, segment: int, running: int) -> None:
    rows = tx.rows(
        "SELECT m.pos, m.path_tokens, m.tokens - coalesce(e.delta, 0) FROM message m"
        " LEFT JOIN edit e ON e.pos = m.pos WHERE m.pos BETWEEN ? AND ? ORDER BY m.pos",
        whole_segment(segment),
    )
    wrong = []
    for pos, kept, own in rows:
        running += own
        if kept != running:
            wrong.append((running, pos))
    tx.run_many("UPDATE message SET path_tokens = ? WHERE pos = ?", wrong)


def _rebuild_force(tx: Connection) -> None:
    faulty = tx.rows(
        f"SELECT DISTINCT f.session, f.overlay FROM in_force f WHERE f.overlay IN ({FORCE_FAULTS})"
    )
    tx.run_many("DELETE FROM in_force WHERE session = ? AND overlay = ?", faulty)
    tx.run_many(
        "INSERT INTO in_force (session, last, first_depth, overlay)"
        " SELECT ?, last, first & 0xffffff, number FROM overlay WHERE number = ?",
        faulty,
    )
    tx.run("UPDATE in_force SET shown = NULL WHERE shown IS NOT NULL", ())


def _rebuild_sessions(tx: Connection) -> None:
    tx.run(
        "UPDATE session SET overlays ="
        " (SELECT count(*) FROM in_force WHERE session = session.number)",
        (),
    )
    tx.run("UPDATE session SET active_s = active_at / 1000000", ())
    for row in map(SessionRow._make, tx.rows(ALL_SESSIONS)):
        _rebuild_session(tx, row)
    tx.run("DELETE FROM stale", ())


def _rebuild_session(tx: Connection, row: SessionRow) -> None:
    if row.tip and not tx.row("SELECT 1 FROM message WHERE pos = ?", (row.tip,)):
        return
    live = count_live(tx, row)
    context = context_at(tx, row, row.tip)
    assert context is not None
    lead, apart = context - path_tokens(tx, row.tip), live - (row.tip & MAX_DEPTH)
    tx.run("UPDATE session SET lead = ?, apart = ? WHERE number = ?", (lead, apart, row.number))
