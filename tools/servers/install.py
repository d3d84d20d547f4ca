"""Install the servers that tests run against.

    python tools/servers/install.py           install what is missing, and say what was done
    python tools/servers/install.py --check   only say what is there; fail if something is missing

Most come from Debian's packages. While they are installed no service is started, and none that
they bring along is left to start with the machine: each server of a test is a child process in a
folder of its own, on a loopback port. FerretDB is built with Go and OpenSearch is gathered with
Maven, into the folder `.servers` of the project.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
BUILT = HERE.parents[1] / ".servers"
POLICY = Path("/usr/sbin/policy-rc.d")
NO_CLUSTER = Path("/etc/postgresql-common/createcluster.d/sapwood.conf")
HELPER = "deb-systemd-helper"
# Neither a template (`name@.service`) nor what only adds to another unit (`name.service.d/...`).
SERVICE = re.compile(
    r"(?:/usr)?/lib/systemd/system/([^/@]+\.(?:service|socket|timer))|/etc/init\.d/([^/]+)"
)


class Packaged(NamedTuple):
    """A program of a Debian package."""

    pattern: str
    package: str

    def find(self, name: str) -> str | None:
        found = sorted(Path("/").glob(self.pattern.lstrip("/")))
        return str(found[-1]) if found else shutil.which(name)


PACKAGED = {
    "postgres": Packaged("/usr/lib/postgresql/*/bin/postgres", "postgresql"),
    "pgbouncer": Packaged("/usr/sbin/pgbouncer", "pgbouncer"),
    "redis-server": Packaged("/usr/bin/redis-server", "redis-server"),
    "mariadbd": Packaged("/usr/sbin/mariadbd", "mariadb-server"),
}


def build_ferretdb(target: Path) -> None:
    build = ["go", "build", "-buildvcs=false", "-o", str(target), "."]
    subprocess.run(build, cwd=HERE / "ferretdb", check=True, stdout=sys.stderr)


def gather_opensearch(target: Path) -> None:
    # Under another name first: a folder that is there is one that is whole.
    partial = target.with_name(f"{target.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    copy = ["mvn", "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={partial}"]
    subprocess.run(copy, cwd=HERE / "opensearch", check=True, stdout=sys.stderr)
    partial.rename(target)


class Made(NamedTuple):
    """A server that is made here, with a program that has to be there."""

    needs: str
    make: Callable[[Path], None]

    def find(self, name: str) -> str | None:
        path = BUILT / name
        return str(path) if path.exists() else None


MADE = {
    "ferretdb": Made("go", build_ferretdb),
    "opensearch": Made("mvn", gather_opensearch),
}


def find(name: str) -> str | None:
    return (PACKAGED.get(name) or MADE[name]).find(name)


def missing() -> list[str]:
    return [name for name in [*PACKAGED, *MADE] if find(name) is None]


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


@contextmanager
def no_cluster_made() -> Iterator[None]:
    """Keep the package of PostgreSQL from making a database of its own."""
    if NO_CLUSTER.exists():
        yield
        return
    as_root("mkdir", "-p", str(NO_CLUSTER.parent))
    as_root("tee", str(NO_CLUSTER), text="create_main_cluster = false\n")
    try:
        yield
    finally:
        as_root("rm", "-f", str(NO_CLUSTER))
        as_root("rmdir", "--ignore-fail-on-non-empty", str(NO_CLUSTER.parent))


def installed_packages() -> set[str]:
    told = _told("dpkg-query", "-W", "-f", "${binary:Package} ${db:Status-Status}\n")
    pairs = [line.split() for line in told.splitlines()]
    return {it[0] for it in pairs if it[1:] == ["installed"]}


def _told(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def services_in(files: str) -> tuple[set[str], set[str]]:
    """Find the units of systemd, and the scripts of init, among the files of packages."""
    found = [it for line in files.splitlines() if (it := SERVICE.fullmatch(line))]
    return {it[1] for it in found if it[1]}, {it[2] for it in found if it[2]}


def starts_by_unit(unit: str, etc: Path = Path("/etc")) -> bool:
    """Whether a unit is started with the machine, or by what is."""
    return any(it.name == unit for it in etc.glob("systemd/system/*.wants/*"))


def starts_by_script(script: str, etc: Path = Path("/etc")) -> bool:
    return any(etc.glob(f"rc[2-5].d/S[0-9][0-9]{script}"))


@contextmanager
def services_left_off() -> Iterator[None]:
    """Keep the services of packages that come meanwhile, and of no others, from a next start."""
    before = installed_packages()
    try:
        yield
    finally:
        new = sorted(installed_packages() - before)
        units, scripts = services_in(_told("dpkg", "-L", *new) if new else "")
        for script in sorted(filter(starts_by_script, scripts)):
            # The unit of that name, too.
            as_root("update-rc.d", script, "disable")
        for unit in sorted(filter(starts_by_unit, units)):
            as_root("systemctl" if shutil.which("systemctl") else HELPER, "disable", unit)


def install_packages(names: list[str]) -> None:
    if shutil.which("apt-get") is None:
        print(f"there is no apt-get here: install {', '.join(names)} by hand")
        return
    with services_held_back(), no_cluster_made(), services_left_off():
        quietly = ("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq")
        as_root(*quietly, "update")
        packages = [PACKAGED[name].package for name in names]
        as_root(*quietly, "install", "--yes", "--no-install-recommends", *packages)


def make(name: str) -> None:
    if shutil.which(MADE[name].needs) is None:
        print(f"{name} is made with {MADE[name].needs}, which is not here: install it first")
        return
    BUILT.mkdir(exist_ok=True)
    MADE[name].make(BUILT / name)


def install(names: list[str]) -> None:
    print(f"installing {', '.join(names)} ...", flush=True)
    packaged = [name for name in names if name in PACKAGED]
    if packaged:
        install_packages(packaged)
    for name in names:
        if name in MADE:
            make(name)


def main(*, check: bool) -> int:
    lacking = missing()
    if lacking and not check:
        install(lacking)
    for name in [*PACKAGED, *MADE]:
        print(f"{name:<12} {find(name) or 'is missing'}")
    return bool(missing())


if __name__ == "__main__":
    sys.exit(main(check="--check" in sys.argv[1:]))
