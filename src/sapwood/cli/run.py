"""From the arguments to the exit code: every error becomes a line and a number here."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

import click

from ..errors import SapwoodError
from . import exit_codes
from .app import ReaderGoneError, app
from .output import clean, encode_json
from .settings import Settings

STREAMS = (
    ("stdin", os.O_RDONLY, "r"),
    ("stdout", os.O_WRONLY, "w"),
    ("stderr", os.O_WRONLY, "w"),
)


def run(args: Sequence[str] | None = None) -> int:
    """Run a command; return its exit code."""
    settings = Settings()
    # Known before the arguments are read, so that what is wrong with them is told in JSON, too.
    # What follows -- is no option.
    given_args = sys.argv[1:] if args is None else args
    settings.json = "--json" in takewhile(lambda it: it != "--", given_args)
    _prepare_streams()
    # The library's warnings are for programs: a command tells what matters itself.
    logging.getLogger("sapwood").addHandler(logging.NullHandler())
    try:
        given = app.main(args, prog_name="sapwood", standalone_mode=False, obj=settings)
        sys.stdout.flush()
    except (BrokenPipeError, ReaderGoneError):
        # Whoever read the output has seen enough of it.
        _drop_output()
        return exit_codes.BROKEN_PIPE
    except (KeyboardInterrupt, click.Abort):
        _flush()
        return exit_codes.INTERRUPTED
    except click.ClickException as error:
        message = error.format_message()
        fields = {"error": "usage", "message": message, "exit_code": exit_codes.USAGE}
        return _report(fields, _with_usage(error), settings)
    except SapwoodError as error:
        fields = _fields(error)
        return _report(fields, clean(str(fields["message"])), settings)
    except OSError as error:
        # A file, other than the store's, that could not be read or written.
        fields = {"error": "file", "message": str(error), "exit_code": exit_codes.UNEXPECTED}
        return _report(fields, clean(str(error)), settings)
    return given if isinstance(given, int) else exit_codes.OK


def _prepare_streams() -> None:
    """Let no character stop the output, whatever the terminal's encoding is.

    A stream that was closed is opened anew on nothing, and so no file gets its number.
    """
    for name, flags, mode in STREAMS:
        if getattr(sys, name) is None:
            handle = os.open(os.devnull, flags)
            setattr(sys, name, open(handle, mode, closefd=False))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


def _drop_output() -> None:
    """Leave what is still in the buffer: it would be written at exit, and fail again."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _flush() -> None:
    try:
        sys.stdout.flush()
    except OSError:
        _drop_output()


def _report(fields: dict[str, Any], text: str, settings: Settings) -> int:
    # What was printed before the error comes before it, also where both go to the same place.
    _flush()
    sys.stderr.write(f"{encode_json(fields) if settings.json else f'sapwood: {text}'}\n")
    code: int = fields["exit_code"]
    return code


def _fields(error: SapwoodError) -> dict[str, Any]:
    named = {
        name: getattr(error, name)
        for name in ("path", "kind", "id", "retryable")
        if getattr(error, name, None) not in (None, "")
    }
    code = exit_codes.exit_code_of(error)
    return {"error": error.code, "message": str(error), **named, "exit_code": code}


def _with_usage(error: click.ClickException) -> str:
    text = clean(error.format_message())
    context = getattr(error, "ctx", None)
    return text if context is None else f"{text}\nTry '{context.command_path} --help'."
