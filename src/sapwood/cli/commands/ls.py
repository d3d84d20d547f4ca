"""`sapwood ls`: a page of sessions."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from ..output import encode_json, note
from ..settings import OTHER_OWNER, Settings, common_options, iter_pages, pass_settings
from ..table import Column, Table
from ..text import clean

if TYPE_CHECKING:
    from ...model import SessionPage

DEFAULT_LIMIT = 50
BIG_PAGE = 500
COLUMNS = (
    Column("SESSION", least=8),
    Column("TITLE", least=6, goes=3),
    Column("MESSAGES", is_number=True, goes=4),
    Column("TOKENS", is_number=True, goes=2),
    Column("ACTIVE", goes=1),
)


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
@pass_settings
def ls_command(
    settings: Settings, /, limit: int | None, is_all: bool, tags: tuple[str, ...], **filters: Any
) -> None:
    """List sessions, the last active first.

    A TIME is 2026-01-31 or 2026-01-31T10:00, in this machine's zone, or says its own.

    \b
    Example:
      sapwood ls --tag urgent --limit 20
    """
    if is_all and limit is not None:
        raise click.UsageError("--all and --limit exclude each other")
    with settings.open() as sessions:
        page_size = limit or (BIG_PAGE if is_all else DEFAULT_LIMIT)
        pages = iter_pages(sessions, limit=page_size, tags=list(tags), **filters)
        pages = islice(pages, None if is_all else 1)
        if settings.json:
            _write_json(pages)
        elif not _write_table(settings, pages):
            is_filtered = tags or any(filters[name] for name in filters if name != "order")
            owner = clean(repr(settings.owner))
            note(
                f"no session of owner {owner} fits"
                if is_filtered
                else f"owner {owner} has no sessions: {OTHER_OWNER}"
            )


def _write_json(pages: Iterator[SessionPage]) -> None:
    """Write one object, a page at a time: `--all` may be long."""
    from ..records import session_json

    separator, cursor = '{"sessions":[', None
    for page in pages:
        for record in page.sessions:
            sys.stdout.write(separator + encode_json(session_json(record)))
            separator = ",\n"
        cursor = page.cursor
    opening = separator if separator != ",\n" else ""
    sys.stdout.write(f'{opening}],"cursor":{encode_json(cursor)}}}\n')


def _write_table(settings: Settings, pages: Iterator[SessionPage]) -> bool:
    """Write the pages; return whether there was something to write."""
    from ..records import local

    table, cursor = Table(settings.output, COLUMNS), None
    for page in pages:
        table.write(
            [
                (
                    it.id,
                    it.title or "",
                    str(it.messages),
                    str(it.context_tokens),
                    local(it.active_at),
                )
                for it in page.sessions
            ]
        )
        cursor = page.cursor
    if cursor is not None:
        note(f"there are more: add --cursor {cursor}, or --all")
    return not table.is_empty
