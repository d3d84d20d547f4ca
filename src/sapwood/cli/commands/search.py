"""`sapwood search`: find messages and summaries by their text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ..completion import note_names, session_names
from ..output import Output, note
from ..settings import common_options, settings_of

if TYPE_CHECKING:
    from ...model import Hit


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
@click.pass_context
def command(
    context: click.Context, query: tuple[str, ...], session: str | None, limit: int
) -> None:
    """Search the text of messages and summaries.

    Words, "phrases", OR, NOT, prefix*, and the filters role:, title:, tag:, after: and before:.
    Every other character is searched for as it stands; write -- before a QUERY that begins with -.

    \b
    Example:
      sapwood search 'parcel role:user'
      sapwood search -- --force
    """
    settings = settings_of(context)
    output = Output()
    with settings.open() as sessions:
        found = sessions.search(" ".join(query), session=session, limit=limit)
    if settings.json:
        output.json({"hits": [hit_json(hit) for hit in found.hits], "more": found.more})
        return
    for hit in found.hits:
        _write(output, hit)
    if not found.hits:
        note("nothing found")
    elif found.more:
        note(f"there are more than {limit}: raise --limit")


def hit_json(hit: Hit) -> dict[str, Any]:
    """Return what was found."""
    from ..records import iso, position_json

    return {
        "session": hit.session,
        "kind": hit.entry.kind,
        "id": hit.entry.id,
        "role": hit.role,
        "position": position_json(hit.position),
        "created_at": iso(hit.created_at),
        "score": hit.score,
        "snippet": hit.snippet,
        "marks": hit.marks,
    }


def _write(output: Output, hit: Hit) -> None:
    from ..records import local
    from ..text import clean, shorten

    head = (
        f"{clean(hit.session)}  {clean(hit.entry.id)}  {clean(hit.role)}  {local(hit.created_at)}"
    )
    output.line(output.style(shorten(head, output.width), fg="cyan"))
    output.line(f"  {marked(output, hit.snippet, hit.marks)}")


def marked(output: Output, snippet: str, marks: list[tuple[int, int]]) -> str:
    """Write a snippet in one line, the matches in it bold."""
    from ..text import clean_line, shorten, width_of

    room = None if output.width is None else output.width - 2
    pieces, at = [], 0
    for start, end in [*marks, (len(snippet), len(snippet))]:
        for text, is_match in ((snippet[at:start], False), (snippet[start:end], True)):
            text = shorten(clean_line(text), room)
            room = None if room is None else room - width_of(text)
            pieces.append(output.style(text, fg="red", bold=True) if is_match else text)
        at = end
    return "".join(pieces)
