"""`sapwood backup`: a copy of the database."""

from __future__ import annotations

from pathlib import Path

import click

from ..output import Output
from ..progress import progress_bar
from ..settings import common_options, settings_of
from ..text import clean
from ..whole_file import target_of


@click.command("backup")
@click.argument("path", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--force", "is_forced", is_flag=True, help="Replace a file that is there.")
@common_options
@click.pass_context
def command(context: click.Context, path: Path, is_forced: bool) -> None:
    """Copy the database while others write to it.

    The copy is the database as it was at one moment, for all owners. It is there whole, or not at
    all; --store opens it as any other.

    \b
    Example:
      sapwood backup agent-monday.db
    """
    settings = settings_of(context)
    with settings.open() as sessions, progress_bar("backup", unit="pages") as advance:
        target_of(path, settings.file(), replace=is_forced)
        sessions.store.admin.backup(path, replace=is_forced, progress=advance)
    size = path.stat().st_size
    if settings.json:
        Output().json({"file": str(path), "bytes": size})
    else:
        Output().line(f"{clean(str(path))}  {size} bytes")
