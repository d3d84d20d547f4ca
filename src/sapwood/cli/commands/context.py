"""`sapwood context`: the blocks of a session's prompt."""

from __future__ import annotations

import sys
from typing import Any

import click

from ..pager import paged
from ..settings import (
    Settings,
    chosen_mode,
    common_options,
    given_options,
    pass_settings,
    session_argument,
)

WITH_LABEL = ("set", "append", "undo", "versions")
WITHOUT_LABEL = ("prompt", "report")


@click.command("context")
@session_argument()
@click.argument("label", metavar="[LABEL]", required=False)
@click.option("--set", metavar="TEXT", help="Replace the block's text; - is standard input.")
@click.option("--append", metavar="TEXT", help="Add a line to the block; - is standard input.")
@click.option("--undo", is_flag=True, help="Take the block's last change back.")
@click.option("--versions", is_flag=True, help="What the block held, the newest first.")
@click.option("--prompt", is_flag=True, help="The frozen prompt, as the model is given it.")
@click.option("--report", is_flag=True, help="What changed the frozen prompt, when and why.")
@click.option(
    "--scope",
    type=click.Choice(["session", "owner", "agent"]),
    help="Where the block is stored; needed when that is not clear.",
)
@click.option("--agent", metavar="NAME", help="The agent whose block it is.")
@common_options
@pass_settings
@paged
def context_command(settings: Settings, /, session: str, label: str | None, **options: Any) -> None:
    """Show and change the blocks of a session's prompt.

    Without a LABEL the blocks are listed. How blocks are set up is known to the program that uses
    them, and not to the store: here are the blocks of which something is stored, for the session,
    its owner or an agent, and not those that the program gives itself. A block's limit and its
    default are not known here either, so mind the limit when you write. The frozen prompt stays as
    it is; the model is told of a change at its next turn.

    \b
    Example:
      sapwood context support memory --append "Prefers short answers."
      sapwood context support --prompt
    """
    mode = _checked_mode(label, **options)
    text = _text_of(options[mode]) if mode in ("set", "append") else ""
    from .. import context_output
    from ..blocks import BlockPlace, write_block
    from ..short_ids import session_id

    agent, output = options["agent"], settings.output
    scope: Any = options["scope"] if agent is None else "agent"
    place = None if scope is None else BlockPlace(scope, agent)
    with settings.open() as sessions:
        session = session_id(sessions, session)
        if mode == "prompt":
            context_output.show_prompt(sessions, session, output)
        elif mode == "report":
            context_output.show_report(sessions, session, output)
        elif label is None:
            context_output.show_list(sessions, session, output)
        elif mode is None or mode == "versions":
            context_output.show_block(sessions, session, label, place, mode == "versions", output)
        else:
            changed = write_block(sessions, session, label, place, mode, text)
            context_output.show_change(changed, output)


def _checked_mode(
    label: str | None, *, scope: str | None, agent: str | None, **options: Any
) -> str | None:
    """Refuse options that do not go together; return the one that says what to do."""
    mode = chosen_mode(given_options(options), (*WITH_LABEL, *WITHOUT_LABEL))
    refusals = (
        (mode in WITH_LABEL and label is None, f"--{mode} needs a LABEL"),
        (mode in WITHOUT_LABEL and label is not None, f"--{mode} takes no LABEL"),
        (
            agent is not None and scope not in (None, "agent"),
            f"--agent and --scope {scope} exclude each other",
        ),
        (agent is None and scope == "agent", "--scope agent needs --agent"),
        ((agent, scope) != (None, None) and label is None, "--scope and --agent need a LABEL"),
    )
    for is_refused, why in refusals:
        if is_refused:
            raise click.UsageError(why)
    return mode


def _text_of(given: str) -> str:
    if given != "-":
        return given
    try:
        return sys.stdin.buffer.read().decode().removesuffix("\n")
    except UnicodeDecodeError as error:
        raise click.UsageError(f"standard input is not UTF-8: {error}") from error
