"""`sapwood search`: find messages and summaries by their text."""

from __future__ import annotations

import click

from ..output import note
from ..settings import Settings, common_options, note_names, pass_settings, session_names


@click.command("search")
@click.argument("query", nargs=-1, required=True)
@click.option(
    "--session",
    metavar="SESSION",
    shell_complete=session_names,
    callback=note_names,
    help="Only what this one sees.",
)
@click.option("--limit", type=click.IntRange(1, 1_000), default=20, help="How many; 20.")
@common_options
@pass_settings
def search_command(
    settings: Settings, query: tuple[str, ...], session: str | None, limit: int
) -> None:
    """Search the text of messages and summaries.

    Words, "phrases", OR, NOT, prefix*, and the filters role:, title:, tag:, after: and before:.
    Every other character is searched for as it stands; write -- before a QUERY that begins with -.

    \b
    Example:
      sapwood search 'parcel role:user'
      sapwood search -- --force
    """
    from ..hit_output import hit_lines, hits_json

    output = settings.output
    with settings.open() as sessions:
        found = sessions.search(" ".join(query), session=session, limit=limit)
    output.answer(hits_json(found), *hit_lines(output, found, has_names=True))
    if settings.json:
        return
    if not found.hits:
        note("nothing found")
    elif found.more:
        note(f"there are more than {limit}: raise --limit")
