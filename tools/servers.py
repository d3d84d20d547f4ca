"""Install the servers that tests run against; the tests start and stop them by themselves.

    python tools/servers.py           install what is missing, and say what was done
    python tools/servers.py --check   only say what is there; fail if something is missing

Debian's packages are used. While they are installed no service is started, and none is left: each
server of a test is a child process in a folder of its own, on a loopback port.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# What has to be there, where to look for it, and the package that brings it.
PROGRAMS = {
    "postgres": ("/usr/lib/postgresql/*/bin/postgres", "postgresql"),
    "pgbouncer": ("/usr/sbin/pgbouncer", "pgbouncer"),
}
POLICY = Path("/usr/sbin/policy-rc.d")
NO_CLUSTER = Path("/etc/postgresql-common/createcluster.d/sapwood.conf")


def find(name: str) -> str | None:
    pattern, _ = PROGRAMS[name]
    found = sorted(Path("/").glob(pattern.lstrip("/")))
    return str(found[-1]) if found else shutil.which(name)


def missing() -> list[str]:
    return [name for name in PROGRAMS if find(name) is None]


def as_root(*command: str, text: str | None = None) -> None:
    prefix = [] if os.geteuid() == 0 else ["sudo", "-n"]
    subprocess.run([*prefix, *command], input=text, text=True, check=True, stdout=sys.stderr)


@contextmanager
def services_held_back() -> Iterator[None]:
    """Keep packages from starting services, by the file that Debian has for that."""
    if POLICY.exists():
        yield
        return
    as_root("tee", str(POLICY), text="#!/bin/sh\nexit 101\n")
    as_root("chmod", "755", str(POLICY))
    try:
        yield
    finally:
        as_root("rm", "-f", str(POLICY))


def install(names: list[str]) -> None:
    packages = [PROGRAMS[name][1] for name in names]
    as_root("mkdir", "-p", str(NO_CLUSTER.parent))
    as_root("tee", str(NO_CLUSTER), text="create_main_cluster = false\n")
    with services_held_back():
        quietly = ("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq")
        as_root(*quietly, "update")
        as_root(*quietly, "install", "--yes", "--no-install-recommends", *packages)


def main() -> int:
    lacking = missing()
    if lacking and "--check" not in sys.argv[1:]:
        if shutil.which("apt-get") is None:
            print("there is no apt-get here: install the servers by hand")
        else:
            print(f"installing {', '.join(lacking)} ...", flush=True)
            install(lacking)
    for name in PROGRAMS:
        print(f"{name:<10} {find(name) or 'is missing'}")
    return bool(missing())


if __name__ == "__main__":
    sys.exit(main())
