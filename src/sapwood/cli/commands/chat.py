"""`sapwood chat`: a conversation in the terminal."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..settings import (
    KEY_VARIABLES,
    Settings,
    api_key_of,
    api_key_option,
    common_options,
    pass_settings,
    session_names,
)

if TYPE_CHECKING:
    from ...agent import ModelTable
    from ..chat.models import ChatModel

TIMEOUT_S = 120
PAUSE_S = 0.02
AFTER = 50_000


@click.command("chat")
@click.argument("session", required=False, shell_complete=session_names)
@click.option("--model", metavar="NAME", help="The model; without one, an offline stand-in.")
@click.option(
    "--provider",
    type=click.Choice(list(KEY_VARIABLES)),
    help="Whose protocol the endpoint speaks; openai, but anthropic for a model named claude….",
)
@click.option("--base-url", metavar="URL", help="Where the model is, if not at its vendor's.")
@api_key_option(*KEY_VARIABLES)
@click.option(
    "--timeout", type=click.FloatRange(1), default=TIMEOUT_S, help=f"Seconds; {TIMEOUT_S}."
)
@click.option(
    "--tools/--no-tools", default=True, help="Let the model search conversations and remember."
)
@click.option(
    "--compact-after",
    type=click.IntRange(1),
    metavar="TOKENS",
    help=f"Summarise the older part when so much is shown; {AFTER}, or by the session's budget.",
)
@click.option(
    "--models",
    envvar="SAPWOOD_MODELS",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Windows and prices of models, in TOML; or SAPWOOD_MODELS.",
)
@common_options
@pass_settings
def chat_command(
    settings: Settings,
    session: str | None,
    model: str | None,
    provider: str | None,
    base_url: str | None,
    api_key_env: str | None,
    timeout: float,
    tools: bool,
    compact_after: int | None,
    models: Path | None,
) -> int:
    """Talk with a model in the terminal; every word is kept.

    Without a SESSION, the last chat goes on. What you write is stored before the model is asked,
    and its answer while it comes in: kill the chat at any time, and start it again. Write /help
    there to see its commands.

    \b
    Example:
      sapwood chat --model gpt-5-mini
      sapwood chat --model claude-sonnet-5-5
      sapwood chat --base-url http://localhost:11434/v1 --model qwen3
    """
    from ...rules.ids import check_name
    from ..chat.loop import hold_chat

    if session is not None:
        check_name(session, "session")
    table = _table_of(models)
    answerer = _model_of(model, provider, base_url, api_key_env, timeout)
    return hold_chat(
        settings, answerer, table, session, has_tools=tools, compact_after=compact_after
    )


def _table_of(file: Path | None) -> ModelTable:
    from ...agent import ModelTable

    if file is None:
        return ModelTable()
    try:
        return ModelTable.parse(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise click.UsageError(f"the table of models cannot be read: {error}") from error


def _model_of(
    model: str | None,
    provider: str | None,
    base_url: str | None,
    api_key_env: str | None,
    timeout: float,
) -> ChatModel:
    if model is None:
        if (provider, base_url, api_key_env) != (None, None, None):
            raise click.UsageError("--provider, --base-url and --api-key-env need a --model")
        from ..chat.models import offline_model

        return offline_model(PAUSE_S if sys.stdout.isatty() else 0)
    from ...summarizers.sdk import ClientSettings
    from ..chat.models import endpoint_model

    if provider is None:
        # Elsewhere, a model of any name is most likely behind OpenAI's protocol.
        is_claude = base_url is None and model.startswith("claude")
        provider = "anthropic" if is_claude else "openai"
    client_settings = ClientSettings(
        base_url=base_url,
        api_key=api_key_of(provider, base_url, api_key_env),
        timeout_s=timeout,
        # The agent tries again.
        max_retries=0,
    )
    return endpoint_model(provider, model, client_settings)
