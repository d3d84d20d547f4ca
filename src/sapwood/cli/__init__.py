"""The command line: `sapwood ls`, `show`, `search` and the others. It needs the extra `cli`."""

from __future__ import annotations

import sys
from typing import NoReturn

EXTRA = "the command line needs click and rich: pip install 'sapwood[cli]'"
MISSING_DEPENDENCY = 9
INTERRUPTED = 130


def main() -> NoReturn:
    """Run the command that the process was started with, and end the process."""
    try:
        from .run import run

        code = run()
    except KeyboardInterrupt:
        # While modules were loaded: nothing was begun.
        code = INTERRUPTED
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("click", "rich"):
            raise
        if sys.stderr is not None:
            sys.stderr.write(f"sapwood: {EXTRA}\n")
        code = MISSING_DEPENDENCY
    sys.exit(code)
