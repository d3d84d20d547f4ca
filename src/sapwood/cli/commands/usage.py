"""`sapwood usage`: what the model calls cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import click

from ..completion import session_argument
from ..output import Output, note
from ..progress import progress_bar
from ..settings import common_options, settings_of

if TYPE_CHECKING:
    from ...model import UsageTotal
    from ...session import SessionManager

By = Literal["model", "message"]
MILLION = 1_000_000
FIGURES = (
    "calls",
    "input_tokens",
    "cached_tokens",
    "output_tokens",
    "reasoning_tokens",
    "cost_micros",
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
@click.pass_context
def command(context: click.Context, session: str | None, by: By) -> None:
    """Tell what the model calls cost.

    Without a SESSION, those of all sessions are added up. Cached tokens are among the input, and
    reasoning tokens among the output. What a call cost is what the program said that it cost.

    \b
    Example:
      sapwood usage support --by message
    """
    if by == "message" and session is None:
        raise click.UsageError("--by message needs a SESSION", context)
    settings = settings_of(context)
    with settings.open() as sessions:
        totals = _totals(sessions, session, by)
    output = Output()
    if settings.json:
        output.json(_json_of(session, by, totals))
    elif totals:
        _write(output, by, totals)
    else:
        note("no model calls")


def _totals(sessions: SessionManager, session: str | None, by: By) -> list[UsageTotal]:
    if session is not None:
        return sessions.usage(session, by=by)
    with progress_bar("usage", unit="sessions"):
        return sessions.usage()


def _json_of(session: str | None, by: By, totals: Sequence[UsageTotal]) -> dict[str, Any]:
    names = ("model", "message") if by == "message" else ("model",)
    return {
        "session": session,
        "by": by,
        "usage": [{name: getattr(it, name) for name in (*names, *FIGURES)} for it in totals],
        "total": _sums(totals),
    }


def _sums(totals: Sequence[UsageTotal]) -> dict[str, int]:
    return {name: sum(getattr(it, name) for it in totals) for name in FIGURES}


def _write(output: Output, by: By, totals: Sequence[UsageTotal]) -> None:
    from ..table import Column, Table

    columns = [
        Column("MODEL", least=8),
        Column("CALLS", is_number=True, goes=3),
        Column("INPUT", is_number=True),
        Column("CACHED", is_number=True, goes=2),
        Column("OUTPUT", is_number=True),
        Column("REASONING", is_number=True, goes=1),
        Column("COST", is_number=True, goes=4),
    ]
    rows = [[it.model or "-", *_cells(it)] for it in totals]
    if len(totals) > 1:
        rows.append(["total", *_figures(_sums(totals))])
    if by == "message":
        columns.insert(0, Column("MESSAGE", least=8))
        ids = [it.message or "-" for it in totals]
        rows = [[id, *row] for id, row in zip([*ids, ""], rows, strict=False)]
    Table(output, columns).write(rows)


def _cells(total: UsageTotal) -> list[str]:
    return _figures({name: getattr(total, name) for name in FIGURES})


def _figures(figures: dict[str, int]) -> list[str]:
    counts = [f"{figures[name]:,}" for name in FIGURES if name != "cost_micros"]
    return [*counts, _cost(figures["cost_micros"])]


def _cost(micros: int) -> str:
    """Write a cost in whole units; it is kept in millionths, whatever the currency."""
    return f"{micros // MILLION:,}.{micros % MILLION:06}" if micros else "0"
