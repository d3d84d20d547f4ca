"""`sapwood usage`: what the model calls cost."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Literal

import click

from ..output import Column, Output, Table, note, progress_bar
from ..pager import paged
from ..settings import Settings, common_options, pass_settings, session_argument

if TYPE_CHECKING:
    from ...model import UsageTotal

MILLION = 1_000_000
FIGURES = (
    "calls",
    "input_tokens",
    "cached_tokens",
    "output_tokens",
    "reasoning_tokens",
    "cost_micros",
)
COLUMNS = (
    Column("MODEL", least=8),
    Column("CALLS", is_number=True, goes=3),
    Column("INPUT", is_number=True),
    Column("CACHED", is_number=True, goes=2),
    Column("OUTPUT", is_number=True),
    Column("REASONING", is_number=True, goes=1),
    Column("COST", is_number=True, goes=4),
)


@click.command("usage")
@session_argument(required=False)
@click.option(
    "--by",
    type=click.Choice(["model", "message"]),
    default="model",
    help="A line for each model, or for each message that a call gave; model.",
)
@common_options
@pass_settings
@paged
def usage_command(settings: Settings, session: str | None, by: Literal["model", "message"]) -> None:
    """Show what the model calls cost.

    Without a SESSION, those of all sessions are added up. Cached tokens are among the input, and
    reasoning tokens among the output. What a call cost is what the program said that it cost.

    \b
    Example:
      sapwood usage support --by message
    """
    from ..short_ids import session_id

    is_by_message = by == "message"
    if is_by_message and session is None:
        raise click.UsageError("--by message needs a SESSION")
    bar = progress_bar("usage", unit="sessions") if session is None else nullcontext()
    with settings.open() as sessions, bar:
        session = session and session_id(sessions, session)
        totals = sessions.usage(session, by=by)
    sums = {name: sum(getattr(it, name) for it in totals) for name in FIGURES}
    if settings.json:
        names = ("model", "message", *FIGURES) if is_by_message else ("model", *FIGURES)
        usage = [{name: getattr(it, name) for name in names} for it in totals]
        settings.output.json({"session": session, "by": by, "usage": usage, "total": sums})
    elif totals:
        _write(settings.output, totals, sums, is_by_message)
    else:
        note("no model calls")


def _write(
    output: Output, totals: Sequence[UsageTotal], sums: dict[str, int], is_by_message: bool
) -> None:
    from ..short_ids import short

    columns = [Column("MESSAGE", least=8), *COLUMNS]
    rows = [
        [
            short(it.message) if it.message else "-",
            it.model or "-",
            *_cells([getattr(it, name) for name in FIGURES]),
        ]
        for it in totals
    ]
    if len(totals) > 1:
        rows.append(["", "total", *_cells([*sums.values()])])
    first = 0 if is_by_message else 1
    Table(output, columns[first:]).write([row[first:] for row in rows])


def _cells(figures: Sequence[int]) -> list[str]:
    """Write figures; a cost is kept in millionths, whatever the currency, and written in units."""
    *counts, micros = figures
    cost = f"{micros // MILLION:,}.{micros % MILLION:06}" if micros else "0"
    return [*(f"{count:,}" for count in counts), cost]
