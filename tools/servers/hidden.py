"""Run a command where no server is in reach, as on a machine that has none.

    python tools/servers/hidden.py make test

The programs and what `make servers` built are covered by nothing, in a mount namespace that only
the command sees (Linux). Without the right to make one, it ends with an error.
"""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

from install import BUILT

FOLDERS = [Path("/usr/lib/postgresql"), BUILT]
PROGRAMS = ("postgres", "initdb", "pgbouncer", "redis-server", "mariadbd", "mariadb-install-db")


def covered() -> list[str]:
    """Return the commands that cover all that there is of servers."""
    places = {*os.get_exec_path(), "/usr/sbin"}
    files = {(Path(place) / name).resolve() for place in places for name in PROGRAMS}
    folders = [it for it in FOLDERS if it.is_dir()]
    apart = [it for it in sorted(files) if it.is_file() and not {*it.parents} & {*folders}]
    return [
        *(f"mount --bind /dev/null {shlex.quote(str(it))}" for it in apart),
        *(f"mount -t tmpfs none {shlex.quote(str(it.resolve()))}" for it in folders),
    ]


def main() -> None:
    if not sys.argv[1:]:
        sys.exit(__doc__)
    rights = [] if os.geteuid() == 0 else ["--map-root-user"]
    left = {name: it for name, it in os.environ.items() if not name.startswith("SAPWOOD_TEST_")}
    script = " && ".join([*covered(), 'exec "$@"'])
    command = ["unshare", "--mount", *rights, "sh", "-c", script, "hidden", *sys.argv[1:]]
    os.execvpe(command[0], command, left)


if __name__ == "__main__":
    main()
