"""`sapwood completion`: the script by which a shell completes commands, options and sessions."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from ..settings import Settings, common_options, pass_settings

VARIABLE = "_SAPWOOD_COMPLETE"


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@common_options
@pass_settings
def completion_command(settings: Settings, shell: str) -> None:
    """Print what lets a shell complete commands and sessions.

    Bash and zsh take it by eval "$(sapwood completion bash)" in ~/.bashrc or ~/.zshrc, and fish as
    the file ~/.config/fish/completions/sapwood.fish.

    \b
    Example:
      sapwood completion fish > ~/.config/fish/completions/sapwood.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(click.get_current_context().find_root().command, {}, "sapwood", VARIABLE).source()
    settings.output.answer({"shell": shell, "script": script}, *script.splitlines())
