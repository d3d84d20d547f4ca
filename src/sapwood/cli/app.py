"""The command itself: its subcommands, each in a module that is imported when it is run."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from .._version import __version__
from ..rules.wording import did_you_mean
from .settings import common_options

COMMANDS = {
    "chat": "Talk with a model in the terminal; every word is kept.",
    "ls": "List sessions, the last active first.",
    "show": "Show a session as a tree, or as the model sees it, or a message.",
    "search": "Search the text of messages and summaries.",
    "compact": "Put a summary in place of the middle of a session.",
    "context": "Show and change the blocks of a session's prompt.",
    "usage": "Show what the model calls cost.",
    "fork": "Make a session that goes on from a message of another.",
    "rename": "Change a session's title.",
    "rm": "Delete sessions.",
    "export": "Write sessions as JSON Lines or Markdown.",
    "import": "Read sessions from JSON Lines.",
    "copy": "Copy sessions from one store to another.",
    "tail": "Show the latest changes, and those to come.",
    "owners": "List the owners, and what each has.",
    "doctor": "Look for damage and for figures that are wrong.",
    "backup": "Copy the database while others write to it.",
    "migrate": "Bring the database to this version's schema.",
    "completion": "Print what lets a shell complete commands and sessions.",
}
# The modules under `commands` that hold several; any other command has one of its own.
MODULES = {
    "ls": "view",
    "show": "view",
    "search": "view",
    "tail": "view",
    "fork": "session",
    "rename": "session",
    "rm": "session",
    "export": "transfer",
    "import": "transfer",
    "copy": "transfer",
    "owners": "database",
    "doctor": "database",
    "backup": "database",
    "migrate": "database",
}


class ReaderGoneError(Exception):
    """Nobody reads the output any more. click would take the pipe's own error for a failure."""


class LazyGroup(click.Group):
    """Knows its commands by name and a sentence; imports the one that is run."""

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        """Read the arguments, which may print help into a pipe."""
        try:
            return super().make_context(*args, **extra)
        except BrokenPipeError as error:
            raise ReaderGoneError from error

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise ReaderGoneError from error

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command's module and return the command."""
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f".commands.{MODULES.get(cmd_name, cmd_name)}", __package__)
        found: click.Command = getattr(module, f"{cmd_name}_command")
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; of one that is not there, say which may be meant."""
        name = args[0]
        if name not in COMMANDS and name[:1] != "-" and not ctx.resilient_parsing:
            ctx.fail(f"there is no command {name!r}{did_you_mean(name, COMMANDS)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Example: sapwood --store sqlite:///agent.db ls",
)
@common_options
@click.version_option(__version__, "--version", message="sapwood %(version)s")
@click.pass_context
def app(context: click.Context) -> None:
    """Look at, search, move and mend the sessions of AI agents."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
