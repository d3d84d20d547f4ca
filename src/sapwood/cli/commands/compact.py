"""`sapwood compact`: a summary in place of the middle of a session."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import click

from ..output import clean, waiting
from ..pager import paged
from ..settings import (
    KEY_VARIABLES,
    Settings,
    api_key_of,
    api_key_option,
    chosen_mode,
    common_options,
    given_options,
    pass_settings,
    session_argument,
)

if TYPE_CHECKING:
    from ...session import SessionManager
    from ...summarizers import AnthropicSummarizer, OpenAISummarizer
    from ..output import Output

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
@click.option("--preview", is_flag=True, help="Show what would be covered, and do nothing.")
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
@api_key_option(*KEY_VARIABLES)
@click.option(
    "--provider",
    type=click.Choice(list(KEY_VARIABLES)),
    help="Whose protocol the model's endpoint speaks; openai.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(1),
    help=f"How many seconds the summary may take; {TIMEOUT_S:.0f}.",
)
@common_options
@pass_settings
@paged
def compact_command(settings: Settings, /, session: str, **options: Any) -> None:
    """Put a summary in place of the middle of a session.

    Nothing is deleted, and --undo takes it back. The head and the tail stay as they are. Without a
    --model the summary is a digest, which needs no network. When there is nothing to cover, or the
    summary would not be shorter, that is told, and everything is as it was.

    \b
    Example:
      sapwood compact support --keep-tokens 4000 --preview
      sapwood compact support --model gpt-5-mini --focus "the lost parcel"
    """
    from .. import compaction_output
    from ..short_ids import session_id

    options["strategy"], mode = _checked(options)
    output = settings.output
    with settings.open() as sessions:
        session = session_id(sessions, session)
        if mode == "undo":
            overlay = sessions.get(session).undo_compaction()
            compaction_output.show_undone(session, overlay, output)
        elif mode == "list":
            compaction_output.show_list(session, sessions.get(session).compactions(), output)
        else:
            _compact(sessions, session, options, mode == "preview", output)


def _checked(options: dict[str, Any]) -> tuple[str, str | None]:
    """Refuse options that do not go together; return the strategy, and what is to be done."""
    given = given_options(options)
    mode = chosen_mode(given, MODES)
    model, strategy = options["model"], options["strategy"]
    if mode in ("undo", "list"):
        _refuse(given, OF_SUMMARY, f"does not go with --{mode}")
    if model is None:
        _refuse(given, OF_MODEL, "needs a --model")
        if mode != "preview" and strategy in ("summarize", "hybrid"):
            raise click.UsageError(f"--strategy {strategy} needs a --model")
    elif strategy == "digest":
        raise click.UsageError("--strategy digest asks no --model: leave one out")
    strategy = strategy or ("digest" if model is None else "summarize")
    if options["focus"] is not None and strategy == "digest":
        raise click.UsageError("--focus needs a --model: a digest has none")
    return strategy, mode


def _refuse(given: list[str], names: tuple[str, ...], why: str) -> None:
    for name in given:
        if name in names:
            raise click.UsageError(f"--{name.replace('_', '-')} {why}")


def _compact(
    sessions: SessionManager,
    session: str,
    options: dict[str, Any],
    is_preview: bool,
    output: Output,
) -> None:
    from ...compaction import create_compact_function
    from .. import compaction_output

    model, focus, strategy = options["model"], options["focus"], options["strategy"]
    is_asked = model is not None and not is_preview
    summarizer: AbstractContextManager[Any] = _summarizer(options) if is_asked else nullcontext()
    with summarizer as summarize:
        function = create_compact_function(
            # A preview only writes the prompt, and never asks.
            summarize if strategy == "digest" or summarize is not None else str,
            strategy=strategy,
            protect_head=HEAD if options["head"] is None else options["head"],
            tail_token_budget=(
                KEPT_TOKENS if options["keep_tokens"] is None else options["keep_tokens"]
            ),
            timeout_s=options["timeout"] or TIMEOUT_S,
        )
        chat = sessions.compact_with(function).get(session)
        if is_preview:
            preview = chat.preview_compaction(focus=focus)
            compaction_output.show_preview(session, preview, function, output)
            return
        with waiting(f"{clean(model)} writes a summary") if is_asked else nullcontext():
            done = chat.compact(focus=focus)
        compaction_output.show_outcome(session, done, function, output)


def _summarizer(options: dict[str, Any]) -> OpenAISummarizer | AnthropicSummarizer:
    provider, base_url = options["provider"] or "openai", options["base_url"]
    key = api_key_of(provider, base_url, options["api_key_env"])
    from ... import summarizers

    kind = (
        summarizers.AnthropicSummarizer if provider == "anthropic" else summarizers.OpenAISummarizer
    )
    timeout_s = options["timeout"] or TIMEOUT_S
    return kind(options["model"], base_url=base_url, api_key=key, timeout_s=timeout_s)
