"""`sapwood show`: a session as a tree, or as the model sees it."""

from __future__ import annotations

import click

from ..settings import Settings, common_options, pass_settings, session_argument

DEFAULT_LIMIT = 50


@click.command("show")
@session_argument()
@click.option("--history", is_flag=True, help="What the model sees: summaries in place, in full.")
@click.option("--leaf", metavar="MESSAGE", help="The path to this message, not to the tip.")
@click.option("--limit", type=click.IntRange(1, 10_000), help=f"How many; {DEFAULT_LIMIT}.")
@click.option("--all", "is_all", is_flag=True, help="The whole session, however long.")
@click.option("--before", type=click.IntRange(1), metavar="DEPTH", help="Only what is above there.")
@click.option("--ids/--no-ids", default=None, help="The messages' ids; shown where there is room.")
@common_options
@pass_settings
def show_command(
    settings: Settings,
    session: str,
    history: bool,
    leaf: str | None,
    limit: int | None,
    is_all: bool,
    before: int | None,
    ids: bool | None,
) -> None:
    """Show a session as a tree, or as the model sees it.

    Of a long session the last messages are shown. Beside the tree, bars mark what an overlay
    covers; the tip and the forks are named where they stand.

    \b
    Example:
      sapwood show support --limit 20
      sapwood show support --history
    """
    from ..history_output import show_history
    from ..tree_output import show_tree
    from ..tree_view import TreePage

    if is_all and limit is not None:
        raise click.UsageError("--all and --limit exclude each other")
    page = TreePage(leaf, None if is_all else limit or DEFAULT_LIMIT, before)
    with settings.open() as sessions:
        record = sessions.get(session).record()
        if history:
            show_history(sessions, record, page, settings.output)
        else:
            show_tree(sessions, record, page, settings.output, ids)
