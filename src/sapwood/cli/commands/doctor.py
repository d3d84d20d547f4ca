"""`sapwood doctor`: is the store sound?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from .. import exit_codes
from ..output import Output
from ..progress import progress_bar
from ..settings import common_options, settings_of
from ..text import clean

if TYPE_CHECKING:
    from ...model import Problem
    from ...session import SessionManager


@click.command("doctor")
@click.option("--repair", "is_repairing", is_flag=True, help="Rebuild what is derived.")
@common_options
@click.pass_context
def command(context: click.Context, is_repairing: bool) -> int:
    """Look for damage and for figures that are wrong.

    The whole store is looked at, of all owners: the file, every message, the counters and sums,
    and the search index. It ends with exit code 10 when something is wrong. With --repair what is
    derived is rebuilt, and what is still wrong is told; what was said is never touched.

    \b
    Example:
      sapwood doctor --repair
    """
    settings = settings_of(context)
    with settings.open() as sessions, progress_bar("doctor", unit=""):
        admin = sessions.store.admin
        found = admin.check()
        left = admin.repair() if is_repairing and found else found
        facts = _facts(sessions)
    if settings.json:
        Output().json(
            {
                **facts,
                "problems": [_json_of(problem) for problem in left],
                "repaired": len(found) - len(left) if is_repairing else 0,
            }
        )
    else:
        _write(facts, found, left, is_repairing)
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


def _json_of(problem: Problem) -> dict[str, str]:
    return {"kind": problem.kind, "where": problem.where, "what": problem.what}


def _write(
    facts: dict[str, Any], found: list[Problem], left: list[Problem], is_repairing: bool
) -> None:
    output = Output()
    output.line(f"{facts['store']} {facts['version']}, schema {facts['schema']}")
    output.line(
        f"{facts['owners']} owners, {facts['sessions']} sessions, {facts['messages']} messages"
    )
    for problem in left:
        where = f"{problem.kind} {clean(problem.where)}"
        output.line(f"{output.style(where, fg='red')}: {clean(problem.what)}")
    if is_repairing and len(left) < len(found):
        output.line(f"{len(found) - len(left)} of {len(found)} problems repaired")
    if not left:
        output.line(output.style("nothing is wrong", fg="green"))
    elif not is_repairing:
        output.line(f"{len(left)} problems: try --repair, after a backup")
