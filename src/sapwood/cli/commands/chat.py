"""`sapwood chat`: a conversation in the terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from ..settings import (
    Settings,
    api_key_of,
    api_key_option,
    common_options,
    pass_settings,
    session_names,
)

if TYPE_CHECKING:
    from ..chat.chat_model import ChatModel

TIMEOUT_S = 120
RETRIES = 2
PAUSE_S = 0.02
AFTER = 50_000


@click.command("chat")
@click.argument("session", required=False, shell_complete=session_names)
@click.option("--model", metavar="NAME", help="The model; without one, an offline stand-in.")
@click.option("--base-url", metavar="URL", help="An endpoint that speaks OpenAI's protocol.")
@api_key_option("openai")
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
@common_options
@pass_settings
def chat_command(
    settings: Settings,
    session: str | None,
    model: str | None,
    base_url: str | None,
    api_key_env: str | None,
    timeout: float,
    tools: bool,
    compact_after: int | None,
) -> int:
    """Talk with a model in the terminal; every word is kept.

    Without a SESSION, the last chat goes on. What you write is stored before the model is asked,
    and its answer while it comes in: kill the chat at any time, and start it again. Write /help
    there to see its commands.

    \b
    Example:
      sapwood chat --model gpt-5-mini
      sapwood chat --base-url http://localhost:11434/v1 --model qwen3
    """
    from ...rules.ids import check_name
    from ..chat.loop import hold_chat

    if session is not None:
        check_name(session, "session")
    answerer = _model_of(model, base_url, api_key_env, timeout)
    return hold_chat(settings, answerer, session, has_tools=tools, compact_after=compact_after)


def _model_of(
    model: str | None, base_url: str | None, api_key_env: str | None, timeout: float
) -> ChatModel:
    if model is None:
        if base_url is not None or api_key_env is not None:
            raise click.UsageError("--base-url and --api-key-env need a --model")
        from ..chat.offline import OfflineChatModel

        return OfflineChatModel(PAUSE_S if sys.stdout.isatty() else 0)
    from ...summarizers.sdk import ClientSettings
    from ..chat.endpoint import EndpointModel

    client_settings = ClientSettings(
        base_url=base_url,
        api_key=api_key_of("openai", base_url, api_key_env),
        timeout_s=timeout,
        max_retries=RETRIES,
    )
    return EndpointModel(model, client_settings)
