"""`sapwood migrate`: bring the database to this version's schema."""

from __future__ import annotations

import click

from ..output import Output
from ..settings import Settings, common_options, settings_of


@click.command("migrate")
@common_options
@click.pass_context
def command(context: click.Context) -> None:
    """Bring the database to this version's schema.

    An older file is copied aside first. Opening it with any other command does the same; this one
    says from which version to which.

    \b
    Example:
      sapwood migrate --store sqlite:///agent.db
    """
    settings = settings_of(context)
    before = _version_of(settings)
    with settings.open() as sessions:
        admin = sessions.store.admin
        before = admin.schema_version() if before is None else before
        after = admin.migrate()
    if settings.json:
        Output().json({"before": before, "after": after})
    elif before == after:
        Output().line(f"schema {after}: nothing to do")
    else:
        Output().line(f"schema {before} -> {after}")


def _version_of(settings: Settings) -> int | None:
    """Read the version of a file before it is opened, since that migrates it."""
    file = settings.file()
    if file is None or not file.exists():
        return None
    from ...stores.sqlite.migrate import stored_version

    return stored_version(file)
