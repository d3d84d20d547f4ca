"""`sapwood ls`, `show`, `search` and `tail`: what only looks at sessions."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from ..output import Column, Table, clean, encode_json, note
from ..pager import paged, paging
from ..settings import (
    OTHER_OWNER,
    Settings,
    asked_kind,
    common_options,
    given_options,
    iter_pages,
    kind_option,
    pass_settings,
    session_argument,
    session_names,
)

if TYPE_CHECKING:
    from ...model import SessionPage

DEFAULT_LIMIT = 50
BIG_PAGE = 500
COLUMNS = (
    Column("SESSION", least=8),
    Column("TITLE", least=6, goes=4),
    Column("FROM", least=8, goes=2),
    Column("MESSAGES", is_number=True, goes=5),
    Column("UNREAD", is_number=True, goes=6),
    Column("TOKENS", is_number=True, goes=2),
    Column("ACTIVE", goes=1),
    Column("LAST", least=12, goes=3),
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
@kind_option
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
@click.option("--absolute", is_flag=True, help="Dates and times, not how long ago.")
@click.option("--unread-for", metavar="USER", help="What this user has not read, as a number.")
@common_options
@pass_settings
@paged
def ls_command(
    settings: Settings,
    /,
    limit: int | None,
    is_all: bool,
    tags: tuple[str, ...],
    kind: str,
    absolute: bool,
    parent: str | None,
    **filters: Any,
) -> None:
    """List sessions, the last active first.

    LAST is what was said last. FROM names the session that one came out of, the depth at which it
    did, and what that one came out of.

    A TIME is 2026-01-31 or 2026-01-31T10:00, in this machine's zone, or says its own.

    \b
    Example:
      sapwood ls --tag urgent --limit 20
    """
    if is_all and limit is not None:
        raise click.UsageError("--all and --limit exclude each other")
    from ..short_ids import session_id

    with settings.open() as sessions:
        page_size = limit or (BIG_PAGE if is_all else DEFAULT_LIMIT)
        filters["parent"] = parent and session_id(sessions, parent)
        asked = {"kind": asked_kind(kind), "tags": list(tags), "previews": True}
        pages = iter_pages(sessions, limit=page_size, **asked, **filters)
        pages = islice(pages, None if is_all else 1)
        if settings.json:
            _write_json(pages)
        elif not _write_table(settings, pages, absolute):
            is_filtered = (
                tags
                or kind not in ("all", "chat")
                or any(filters[name] for name in filters if name not in ("order", "unread_for"))
            )
            owner = clean(repr(settings.owner))
            nothing = f"owner {owner} has no sessions: {OTHER_OWNER}"
            note(f"no session of owner {owner} fits" if is_filtered else nothing)


def _write_json(pages: Iterator[SessionPage]) -> None:
    """Write one object, a page at a time: `--all` may be long."""
    from ..records import listed_json

    separator, cursor = '{"sessions":[', None
    for page in pages:
        for record in page.sessions:
            sys.stdout.write(separator + encode_json(listed_json(record)))
            separator = ",\n"
        cursor = page.cursor
    opening = separator if separator != ",\n" else ""
    sys.stdout.write(f'{opening}],"cursor":{encode_json(cursor)}}}\n')


def _write_table(settings: Settings, pages: Iterator[SessionPage], is_absolute: bool) -> bool:
    """Write the pages; return whether there was something to write."""
    from ..records import ago, lineage_of, local, preview_line
    from ..short_ids import short

    now = datetime.now(UTC)
    table, cursor = Table(settings.output, COLUMNS), None
    for page in pages:
        known = {it.id: it for it in page.sessions}
        table.write(
            [
                (
                    short(it.id),
                    it.title or "",
                    lineage_of(it, known),
                    str(0 if it.tip_position is None else it.tip_position.depth),
                    "" if it.unread is None else str(it.unread),
                    str(it.context_tokens),
                    local(it.active_at) if is_absolute else ago(it.active_at, now),
                    preview_line(it),
                )
                for it in page.sessions
            ]
        )
        cursor = page.cursor
    if cursor is not None:
        note(f"there are more: add --cursor {cursor}, or --all")
    return not table.is_empty


@click.command("show")
@session_argument()
@click.argument("message", metavar="[MESSAGE]", required=False)
@click.option("--history", is_flag=True, help="What the model sees: summaries in place, in full.")
@click.option("--leaf", metavar="MESSAGE", help="The path to this message, not to the tip.")
@click.option("--limit", type=click.IntRange(1, 10_000), help=f"How many; {DEFAULT_LIMIT}.")
@click.option("--all", "is_all", is_flag=True, help="The whole session, however long.")
@click.option("--before", type=click.IntRange(1), metavar="DEPTH", help="Only what is above there.")
@click.option("--ids/--no-ids", default=None, help="The messages' ids; shown where there is room.")
@common_options
@pass_settings
@paged
def show_command(
    settings: Settings,
    /,
    session: str,
    message: str | None,
    ids: bool | None,
    **options: Any,
) -> None:
    """Show a session as a tree, or as the model sees it, or a message.

    Of a long session the last messages are shown. Beside the tree, bars mark what an overlay
    covers; the tip and the forks are named where they stand.

    \b
    Example:
      sapwood show support --limit 20
      sapwood show support --history
      sapwood show support 065f3c21a80b44
    """
    if message is not None:
        if ids is not None or given_options(options):
            raise click.UsageError("a MESSAGE is shown in full: leave the other options out")
        from ..message_output import show_message

        with settings.open() as sessions:
            show_message(sessions, session, message, settings.output)
        return
    _show_session(settings, session, ids=ids, **options)


def _show_session(
    settings: Settings,
    session: str,
    *,
    history: bool,
    leaf: str | None,
    limit: int | None,
    is_all: bool,
    before: int | None,
    ids: bool | None,
) -> None:
    from ..history_output import show_history
    from ..short_ids import message_id, session_id
    from ..tree_output import TreePage, show_tree

    if is_all and limit is not None:
        raise click.UsageError("--all and --limit exclude each other")
    with settings.open() as sessions:
        chat = sessions.get(session_id(sessions, session))
        leaf = leaf and message_id(sessions, chat, leaf)
        page = TreePage(leaf, None if is_all else limit or DEFAULT_LIMIT, before)
        record = chat.record()
        if history:
            show_history(sessions, record, page, settings.output)
        else:
            show_tree(sessions, record, page, settings.output, ids)


@click.command("search")
@click.argument("query", nargs=-1, required=True)
@click.option(
    "--session",
    metavar="SESSION",
    shell_complete=session_names,
    help="Only what this one sees.",
)
@kind_option
@click.option("--limit", type=click.IntRange(1, 1_000), default=20, help="How many; 20.")
@click.option("--cursor", help="Go on after the page of this search that gave this cursor.")
@common_options
@pass_settings
@paged
def search_command(
    settings: Settings,
    query: tuple[str, ...],
    session: str | None,
    kind: str,
    limit: int,
    cursor: str | None,
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
    from ..short_ids import session_id

    output = settings.output
    with settings.open() as sessions:
        text = " ".join(query)
        session = session and session_id(sessions, session)
        found = sessions.search(
            text, session=session, kind=asked_kind(kind), limit=limit, cursor=cursor
        )
    output.answer(hits_json(found), *hit_lines(output, found, has_names=True))
    if settings.json:
        return
    if not found.hits:
        note("nothing found")
    elif found.cursor is not None:
        note(f"there are more: add --cursor {found.cursor}")


@click.command("tail")
@click.option("--follow", "-f", "is_following", is_flag=True, help="Go on with what comes.")
@click.option("--lines", "-n", type=click.IntRange(0), default=10, help="How many; 10.")
@click.option("--since", metavar="CURSOR", help="All since there; '' is the feed's beginning.")
@click.option(
    "--session", metavar="SESSION", shell_complete=session_names, help="Only this session's."
)
@click.option(
    "--interval", type=click.FloatRange(0.01), default=0.5, help="Seconds between looks; 0.5."
)
@common_options
@pass_settings
def tail_command(
    settings: Settings,
    is_following: bool,
    lines: int,
    since: str | None,
    session: str | None,
    interval: float,
) -> None:
    """Show the latest changes, and those to come.

    With --json each line has a cursor: --since it goes on from there, and misses nothing. What
    came after the line's own page may be shown once more.

    \b
    Example:
      sapwood tail -f --session support
    """
    from ...errors import NotFoundError
    from ..change_feed import ChangeFeed
    from ..short_ids import session_id

    with paging(settings.has_pager and not is_following), settings.open() as sessions:
        with contextlib.suppress(NotFoundError):
            # One that is gone, or still to come, has changes, too.
            session = session and session_id(sessions, session)
        feed = ChangeFeed(sessions, session, settings.output)
        if since is None:
            feed.show_last(lines)
        else:
            feed.show_since(since)
        while is_following:
            sys.stdout.flush()
            time.sleep(interval)
            feed.show_since(feed.cursor)
        if not settings.json:
            note(f"cursor {feed.cursor}")
