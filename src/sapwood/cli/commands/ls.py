"""`sapwood ls`: a page of sessions."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from ..output import Output, encode_json, note
from ..settings import OTHER_OWNER, common_options, settings_of
from ..text import clean

if TYPE_CHECKING:
    from ...model import SessionPage
    from ...session import SessionManager

DEFAULT_LIMIT = 50
BIG_PAGE = 500


def moment(value: str) -> datetime:
    """Read a time as ISO 8601 writes it; one without a zone is this machine's."""
    try:
        return datetime.fromisoformat(value).astimezone(UTC)
    except (ValueError, OverflowError):
        raise click.BadParameter(
            f"{value!r} is no time: write 2026-01-31 or 2026-01-31T10:00"
        ) from None


@click.command("ls")
@click.option("--state", help="Only those in this state.")
@click.option("--tag", "tags", multiple=True, help="Only those with this tag; may be repeated.")
@click.option("--title", "title_prefix", metavar="PREFIX", help="Only titles that begin so.")
@click.option("--parent", metavar="SESSION", help="Only those that came out of this session.")
@click.option(
    "--created-from", type=moment, metavar="TIME", help="Only those created at or after this time."
)
@click.option(
    "--created-until", type=moment, metavar="TIME", help="Only those created before this time."
)
@click.option(
    "--active-from", type=moment, metavar="TIME", help="Only those active at or after this time."
)
@click.option(
    "--active-until", type=moment, metavar="TIME", help="Only those last active before this time."
)
@click.option(
    "--order",
    type=click.Choice(["active", "created"]),
    default="active",
    help="What 'newest first' goes by.",
)
@click.option("--limit", type=click.IntRange(1, 10_000), help=f"How many; {DEFAULT_LIMIT}.")
@click.option("--all", "is_all", is_flag=True, help="All of them, however many.")
@click.option("--cursor", help="Go on after the page that gave this cursor.")
@common_options
@click.pass_context
def command(context: click.Context, /, limit: int | None, is_all: bool, **filters: Any) -> None:
    """List sessions, the last active first.

    A TIME is 2026-01-31 or 2026-01-31T10:00, in this machine's zone, or says its own.

    \b
    Example:
      sapwood ls --tag urgent --limit 20
    """
    if is_all and limit is not None:
        raise click.UsageError("--all and --limit exclude each other", context)
    settings = settings_of(context)
    filters["tags"] = list(filters["tags"])
    filters["limit"] = limit or (BIG_PAGE if is_all else DEFAULT_LIMIT)
    with settings.open() as sessions:
        pages = _pages(sessions, is_all, filters)
        if settings.json:
            _write_json(pages)
        else:
            is_empty = _write_table(Output(), pages)
            if is_empty:
                note(_nothing(settings.owner, filters))


def _nothing(owner: str, filters: dict[str, Any]) -> str:
    """Note that nothing was listed: for want of sessions, or because of what was asked for."""
    if any(value for name, value in filters.items() if name not in ("limit", "order")):
        return f"no session of owner {clean(repr(owner))} fits"
    return f"owner {clean(repr(owner))} has no sessions: {OTHER_OWNER}"


def _pages(
    sessions: SessionManager, is_all: bool, filters: dict[str, Any]
) -> Iterator[SessionPage]:
    while True:
        page = sessions.list_sessions(**filters)
        yield page
        if not is_all or page.cursor is None:
            return
        filters["cursor"] = page.cursor


def _write_json(pages: Iterator[SessionPage]) -> None:
    """Write one object, a page at a time: `--all` may be long."""
    import sys

    from ..records import session_json

    separator, cursor = '{"sessions":[', None
    for page in pages:
        for record in page.sessions:
            sys.stdout.write(separator + encode_json(session_json(record)))
            separator = ",\n"
        cursor = page.cursor
    opening = separator if separator != ",\n" else ""
    sys.stdout.write(f'{opening}],"cursor":{encode_json(cursor)}}}\n')


def _write_table(output: Output, pages: Iterator[SessionPage]) -> bool:
    """Write the pages; return whether there was nothing to write."""
    from ..session_table import SessionTable

    listing = SessionTable(output)
    cursor = None
    for page in pages:
        listing.write_page(page.sessions)
        cursor = page.cursor
    if cursor is not None:
        note(f"there are more: add --cursor {cursor}, or --all")
    return listing.is_empty
