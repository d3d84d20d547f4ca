"""`sapwood context`: the blocks of a session's prompt."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ..completion import session_argument
from ..output import Output, note
from ..settings import common_options, settings_of
from ..text import clean

if TYPE_CHECKING:
    from ...session import SessionManager
    from ..blocks import BlockPlace, StoredTextBlock

WITH_LABEL = ("set", "append", "undo", "versions")
ALONE = ("prompt", "report")


class _ContextRequest(NamedTuple):
    """What is wanted of the blocks."""

    label: str | None
    mode: str | None
    text: str
    place: BlockPlace | None


@click.command("context")
@session_argument()
@click.argument("label", metavar="[LABEL]", required=False)
@click.option("--set", metavar="TEXT", help="Give the block this text; - is standard input.")
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
@click.pass_context
def command(context: click.Context, /, session: str, label: str | None, **options: Any) -> None:
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
    request = _request(context, label, options)
    settings = settings_of(context)
    with settings.open() as sessions:
        sessions.get(session)
        if request.mode in ALONE:
            _show_prompt(sessions, session, request.mode, settings.json)
        elif request.label is None:
            _list(sessions, session, settings.json)
        elif request.mode in ("set", "append", "undo"):
            _report(_write(sessions, session, request), settings.json)
        else:
            _show(sessions, session, request, settings.json)


def _request(context: click.Context, label: str | None, options: dict[str, Any]) -> _ContextRequest:
    modes = [name for name in (*WITH_LABEL, *ALONE) if options[name] not in (None, False)]
    if len(modes) > 1:
        raise click.UsageError(f"--{modes[0]} and --{modes[1]} exclude each other", context)
    mode = modes[0] if modes else None
    if mode in WITH_LABEL and label is None:
        raise click.UsageError(f"--{mode} needs a LABEL", context)
    if mode in ALONE and label is not None:
        raise click.UsageError(f"--{mode} takes no LABEL", context)
    place = _place(context, options["scope"], options["agent"])
    if place is not None and label is None:
        raise click.UsageError("--scope and --agent need a LABEL", context)
    text = _text_of(context, options[mode]) if mode in ("set", "append") else ""
    return _ContextRequest(label, mode, text, place)


def _place(context: click.Context, scope: str | None, agent: str | None) -> BlockPlace | None:
    from ..blocks import BlockPlace

    if agent is not None:
        if scope not in (None, "agent"):
            raise click.UsageError(f"--agent and --scope {scope} exclude each other", context)
        return BlockPlace("agent", agent)
    if scope == "agent":
        raise click.UsageError("--scope agent needs --agent", context)
    if scope == "session":
        return BlockPlace("session")
    return None if scope is None else BlockPlace("owner")


def _text_of(context: click.Context, given: str) -> str:
    if given != "-":
        return given
    try:
        return sys.stdin.buffer.read().decode().removesuffix("\n")
    except UnicodeDecodeError as error:
        raise click.UsageError(f"standard input is not UTF-8: {error}", context) from error


def _list(sessions: SessionManager, session: str, is_json: bool) -> None:
    from ..block_output import blocks_json, write_list
    from ..blocks import stored_blocks
    from ..prompt_output import given_by_program, stored_prompt

    stored = stored_blocks(sessions, session)
    others = given_by_program(stored_prompt(sessions, session), stored)
    output = Output()
    if is_json:
        output.json({"session": session, **blocks_json(stored), "given_by_program": others})
        return
    write_list(output, stored)
    if not stored.places():
        note("no blocks are stored")
    if others:
        names = ", ".join(map(clean, others))
        note(f"given by the program, see --prompt: {names}")


def _show_prompt(sessions: SessionManager, session: str, mode: str | None, is_json: bool) -> None:
    from ..blocks import stored_blocks
    from ..prompt_output import show_prompt, show_report, stored_prompt

    prompt = stored_prompt(sessions, session)
    if mode == "prompt":
        show_prompt(session, prompt, is_json)
    else:
        show_report(session, prompt, stored_blocks(sessions, session), is_json)


def _show(sessions: SessionManager, session: str, request: _ContextRequest, is_json: bool) -> None:
    from ..block_output import blocks_json, versions_json, write_one, write_versions
    from ..blocks import no_block, of_label, stored_blocks

    assert request.label is not None
    stored = of_label(stored_blocks(sessions, session), request.label, request.place)
    if not stored.texts and (request.mode == "versions" or not stored.entries):
        raise no_block(session, request.label)
    output = Output()
    if request.mode == "versions":
        [text] = stored.texts
        if is_json:
            output.json({"session": session, **versions_json(text)})
        else:
            write_versions(output, text)
    elif is_json:
        output.json({"session": session, **blocks_json(stored)})
    else:
        write_one(output, stored)


def _write(sessions: SessionManager, session: str, request: _ContextRequest) -> StoredTextBlock:
    from ...context import BlockConfig, Context
    from ..blocks import BlockPlace, no_block, of_label, read_text, stored_blocks

    assert request.label is not None
    label = request.label
    stored = of_label(stored_blocks(sessions, session), label, request.place)
    _refuse_blind(label, request.mode, stored)
    if request.mode == "undo" and not stored.texts:
        raise no_block(session, label)
    place = stored.texts[0].place if stored.texts else request.place or BlockPlace("session")
    config = BlockConfig(label, scope=place.scope, agent=place.agent)
    blocks = Context(sessions.store, sessions.owner, session, [config])
    if request.mode == "undo":
        blocks.undo(label)
    elif request.mode == "append":
        blocks.append(label, request.text)
    else:
        blocks.replace(label, request.text)
    return read_text(sessions, session, label, place)


def _refuse_blind(label: str, mode: str | None, stored: Any) -> None:
    from ...errors import UsageError

    if stored.entries and not stored.texts:
        raise UsageError(f"block {label!r} has entries: its program writes them", path="label")
    has_text = stored.texts and stored.texts[0].held.stored.content is not None
    if mode == "append" and not has_text:
        raise UsageError(
            f"nothing is stored of block {label!r}, and what its program gives it is not known "
            "here: write the whole text with --set",
            path="append",
        )


def _report(text: StoredTextBlock, is_json: bool) -> None:
    from ..block_output import text_json

    value = text_json(text)
    if is_json:
        Output().json(value)
    else:
        figures = f"version {value['version']}, {value['tokens']} tokens"
        Output().line(f"{clean(text.label)}  {figures}")
