"""`sapwood compact`: a summary in place of the middle of a session."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Literal

import click

from ..api_keys import VARIABLES, key_of
from ..completion import session_argument
from ..progress import waiting
from ..settings import common_options, settings_of
from ..text import clean

if TYPE_CHECKING:
    from ...compaction import CompactFunction
    from ...session import Session
    from ...summarizers import AnthropicSummarizer, OpenAISummarizer

StrategyName = Literal["digest", "summarize", "hybrid"]
HEAD = 3
KEPT_TOKENS = 20_000
TIMEOUT_S = 120.0
MODES = ("preview", "undo", "list")
# What belongs to a model, and what to making a summary at all.
OF_MODEL = ("base_url", "api_key_env", "provider", "timeout")
OF_SUMMARY = ("focus", "strategy", "keep_tokens", "head", "model", *OF_MODEL)


@click.command("compact")
@session_argument()
@click.option("--focus", metavar="TEXT", help="What the summary should tell the most of.")
@click.option("--preview", is_flag=True, help="Tell what would be covered, and do nothing.")
@click.option("--undo", is_flag=True, help="Take the last compaction back.")
@click.option("--list", is_flag=True, help="List the compactions of the past.")
@click.option(
    "--strategy",
    type=click.Choice(["digest", "summarize", "hybrid"]),
    help="Without a model, digest; with one, summarize, or hybrid: a digest when the model fails.",
)
@click.option(
    "--keep-tokens",
    type=click.IntRange(0),
    metavar="N",
    help=f"About how many tokens at the end stay as they are; {KEPT_TOKENS}.",
)
@click.option(
    "--head",
    type=click.IntRange(0),
    metavar="N",
    help=f"How many messages at the beginning stay as they are; {HEAD}.",
)
@click.option("--model", metavar="NAME", help="The model that writes the summary.")
@click.option("--base-url", metavar="URL", help="Where the model is, if not at its vendor's.")
@click.option(
    "--api-key-env",
    metavar="VARIABLE",
    help=f"The environment's variable that holds the key; {' or '.join(VARIABLES.values())}.",
)
@click.option(
    "--provider",
    type=click.Choice(list(VARIABLES)),
    help="Whose protocol the model's endpoint speaks; openai.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(1),
    help=f"How many seconds the summary may take; {TIMEOUT_S:.0f}.",
)
@common_options
@click.pass_context
def command(context: click.Context, /, session: str, **options: Any) -> None:
    """Put a summary in place of the middle of a session.

    Nothing is deleted, and --undo takes it back. The head and the tail stay as they are. Without a
    --model the summary is a digest, which needs no network. When there is nothing to cover, or the
    summary would not be shorter, that is told, and everything is as it was.

    \b
    Example:
      sapwood compact support --keep-tokens 4000 --preview
      sapwood compact support --model gpt-5-mini --focus "the lost parcel"
    """
    mode = _check(context, options)
    settings = settings_of(context)
    with settings.open() as sessions:
        if mode in ("undo", "list"):
            _past(sessions.get(session), mode, settings.json)
            return
        with _summarizer(context, options, mode) as summarize:
            function = _function(options, summarize)
            chat = sessions.compact_with(function).get(session)
            _make(chat, function, options, mode, settings.json)


def _check(context: click.Context, options: dict[str, Any]) -> str | None:
    """Refuse options that do not go together; return the one that says what to do."""
    given = [name for name, value in options.items() if value not in (None, False)]
    modes = [name for name in MODES if name in given]
    if len(modes) > 1:
        raise click.UsageError(f"--{modes[0]} and --{modes[1]} exclude each other", context)
    mode = modes[0] if modes else None
    if mode in ("undo", "list"):
        _refuse(context, given, OF_SUMMARY, f"does not go with --{mode}")
    if "model" not in given:
        _refuse(context, given, OF_MODEL, "needs a --model")
        if mode != "preview" and options["strategy"] in ("summarize", "hybrid"):
            raise click.UsageError(f"--strategy {options['strategy']} needs a --model", context)
    elif options["strategy"] == "digest":
        raise click.UsageError("--strategy digest asks no --model: leave one out", context)
    if options["focus"] is not None and _strategy(options) == "digest":
        raise click.UsageError("--focus needs a --model: a digest has none", context)
    return mode


def _refuse(context: click.Context, given: list[str], names: tuple[str, ...], why: str) -> None:
    for name in given:
        if name in names:
            raise click.UsageError(f"--{name.replace('_', '-')} {why}", context)


@contextmanager
def _summarizer(context: click.Context, options: dict[str, Any], mode: str | None) -> Iterator[Any]:
    """Return what writes the summaries; None is a digest. A preview asks nobody."""
    if mode == "preview" or options["model"] is None:
        yield None
        return
    with _model(context, options) as asked:
        yield asked


def _model(
    context: click.Context, options: dict[str, Any]
) -> OpenAISummarizer | AnthropicSummarizer:
    provider, base_url = options["provider"] or "openai", options["base_url"]
    key = key_of(context, provider, base_url, options["api_key_env"])
    from ... import summarizers

    kind = (
        summarizers.AnthropicSummarizer if provider == "anthropic" else summarizers.OpenAISummarizer
    )
    timeout_s = options["timeout"] or TIMEOUT_S
    return kind(options["model"], base_url=base_url, api_key=key, timeout_s=timeout_s)


def _strategy(options: dict[str, Any]) -> StrategyName:
    usual: StrategyName = "digest" if options["model"] is None else "summarize"
    chosen: StrategyName | None = options["strategy"]
    return chosen or usual


def _function(options: dict[str, Any], summarize: Any) -> CompactFunction:
    from ...compaction import create_compact_function

    strategy = _strategy(options)
    return create_compact_function(
        # A preview only writes the prompt, and never asks.
        summarize if strategy == "digest" or summarize is not None else str,
        strategy=strategy,
        protect_head=HEAD if options["head"] is None else options["head"],
        tail_token_budget=(
            KEPT_TOKENS if options["keep_tokens"] is None else options["keep_tokens"]
        ),
        timeout_s=options["timeout"] or TIMEOUT_S,
    )


def _make(
    session: Session,
    function: CompactFunction,
    options: dict[str, Any],
    mode: str | None,
    is_json: bool,
) -> None:
    from .. import compaction_output

    focus = options["focus"]
    if mode == "preview":
        preview = session.preview_compaction(focus=focus)
        compaction_output.show_preview(session.id, preview, function, is_json)
        return
    model = options["model"]
    sign = nullcontext() if model is None else waiting(f"{clean(model)} writes a summary")
    with sign:
        done = session.compact(focus=focus)
    compaction_output.show_outcome(session.id, done, function, is_json)


def _past(session: Session, mode: str, is_json: bool) -> None:
    from .. import compaction_output

    if mode == "undo":
        compaction_output.show_undone(session.id, session.undo_compaction(), is_json)
    else:
        compaction_output.show_list(session.id, session.compactions(), is_json)
