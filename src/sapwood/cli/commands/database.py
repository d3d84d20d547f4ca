"""`sapwood owners`, `doctor`, `backup` and `migrate`: what is done to a whole database."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...model import CHAT, SessionQuery, Statistics
from ...rules.wording import counted
from .. import exit_codes
from ..output import Column, Table, clean, note, progress_bar
from ..pager import paged
from ..settings import Settings, common_options, pass_settings
from ..whole_file import target_of

if TYPE_CHECKING:
    from ...model import Problem
    from ...session import SessionManager
    from ..output import Output


OWNER_COLUMNS = (
    Column("OWNER", least=8),
    Column("SESSIONS", is_number=True),
    Column("MESSAGES", is_number=True, goes=3),
    Column("OTHERS", is_number=True, goes=2),
    Column("ACTIVE", goes=1),
)


@click.command("owners")
@common_options
@pass_settings
@paged
def owners_command(settings: Settings) -> None:
    """List the owners, and what each has.

    Each with the number of sessions of the kind 'chat' and of their messages, that of other
    sessions, and when one was last active.

    \b
    Example:
      sapwood owners --store postgresql://agent@db.example.com/agent
    """
    from ..records import ago, iso

    with settings.open() as sessions:
        owners = []
        for owner in sessions.store.admin.list_owners():
            counts = sessions.store.statistics(owner)
            last = sessions.store.list_sessions(owner, SessionQuery(kind=None, limit=1)).sessions
            owners.append((owner, counts, last[0].active_at if last else None))
    if settings.json:
        found = [
            {
                "owner": owner,
                "sessions": counts.sessions,
                "messages": counts.messages,
                "other_sessions": _others(counts),
                "active_at": active and iso(active),
            }
            for owner, counts, active in owners
        ]
        settings.output.json({"owners": found})
        return
    now = datetime.now(UTC)
    rows = [
        [
            owner,
            *map(str, (counts.sessions, counts.messages, _others(counts))),
            ago(active, now) if active else "",
        ]
        for owner, counts, active in owners
    ]
    Table(settings.output, OWNER_COLUMNS).write(rows)
    if not rows:
        note("the store has no owners: nothing was stored yet")


def _others(counts: Statistics) -> int:
    return sum(it.sessions for it in counts.counts if it.kind != CHAT)


@click.command("doctor")
@click.option("--repair", "is_repairing", is_flag=True, help="Rebuild what is derived.")
@common_options
@pass_settings
def doctor_command(settings: Settings, is_repairing: bool) -> int:
    """Look for damage and for figures that are wrong.

    The whole store is looked at, of all owners: the file, every message, the counters and sums,
    and the search index. It ends with exit code 10 when something is wrong. With --repair what is
    derived is rebuilt, and what is still wrong is told; what was said is never touched.

    \b
    Example:
      sapwood doctor --repair
    """
    with settings.open() as sessions, progress_bar("doctor", unit=""):
        admin = sessions.store.admin
        found = admin.check()
        left = admin.repair() if is_repairing and found else found
        facts = _facts(sessions)
    repaired = len(found) - len(left) if is_repairing else 0
    problems = [{"kind": it.kind, "where": it.where, "what": it.what} for it in left]
    output = settings.output
    many = counted(len(left), "problem")
    advice = "" if is_repairing else f"{many}: try --repair, after a backup"
    verdict = advice if left else output.style("nothing is wrong", fg="green")
    success = f"{repaired} of {counted(len(found), 'problem')} repaired" if repaired > 0 else ""
    output.answer(
        {**facts, "problems": problems, "repaired": repaired},
        f"{facts['store']} {facts['version']}, schema {facts['schema']}",
        ", ".join(counted(facts[f"{noun}s"], noun) for noun in ("owner", "session", "message")),
        *(_problem_line(output, it) for it in left),
        *filter(None, (success, verdict)),
    )
    return exit_codes.PROBLEMS if left else exit_codes.OK


def _facts(sessions: SessionManager) -> dict[str, Any]:
    admin = sessions.store.admin
    health = admin.health()
    owners = admin.list_owners()
    counts = [sessions.store.statistics(owner) for owner in owners]
    return {
        "store": health.store,
        "version": health.version,
        "writable": health.writable,
        "schema": admin.schema_version(),
        "owners": len(owners),
        "sessions": sum(it.sessions for it in counts),
        "messages": sum(it.messages for it in counts),
    }


def _problem_line(output: Output, problem: Problem) -> str:
    where = output.style(f"{problem.kind} {clean(problem.where)}", fg="red")
    return f"{where}: {clean(problem.what)}"


@click.command("backup")
@click.argument("path", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--force", "is_forced", is_flag=True, help="Replace a file that is there.")
@common_options
@pass_settings
def backup_command(settings: Settings, path: Path, is_forced: bool) -> None:
    """Copy the database while others write to it.

    The copy is the database as it was at one moment, for all owners. It is there whole, or not at
    all; --store opens it as any other.

    \b
    Example:
      sapwood backup agent-monday.db
    """
    with settings.open() as sessions, progress_bar("backup", unit="pages") as advance:
        target_of(path, settings.file(), replace=is_forced)
        sessions.store.admin.backup(path, replace=is_forced, progress=advance)
    size = path.stat().st_size
    settings.output.answer(
        {"file": str(path), "bytes": size}, f"{clean(str(path))}  {counted(size, 'byte')}"
    )


@click.command("migrate")
@common_options
@pass_settings
def migrate_command(settings: Settings) -> None:
    """Bring the database to this version's schema.

    An older file is copied aside first. Opening it with any other command does the same; this one
    says from which version to which.

    \b
    Example:
      sapwood migrate --store sqlite:///agent.db
    """
    before = _version_of(settings.file())
    with settings.open() as sessions:
        admin = sessions.store.admin
        before = admin.schema_version() if before is None else before
        after = admin.migrate()
    is_same = before == after
    line = f"schema {after}: nothing to do" if is_same else f"schema {before} -> {after}"
    settings.output.answer({"before": before, "after": after}, line)


def _version_of(file: Path | None) -> int | None:
    """Read the version of a file before it is opened, since that migrates it."""
    if file is None or not file.exists():
        return None
    from ...stores.sqlite.migrate import stored_version

    return stored_version(file)
