"""Installing servers leaves no service behind that was not there before."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

PATH = Path(__file__).resolve().parents[2] / "tools" / "servers" / "install.py"
FILES = """\
/.
/etc/init.d/redis-server
/lib/systemd/system/redis-server.service
/lib/systemd/system/redis-server@.service
/usr/lib/systemd/system/pgbouncer.socket
/lib/systemd/system/mariadb@bootstrap.service.d/use_galera_new_cluster.conf
/etc/init.d

package diverts others to: /etc/init.d/other
/usr/share/doc/redis-server/copyright
"""


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Give the tool, which runs nothing as root here, but tells what it would run."""
    spec = importlib.util.spec_from_file_location("install", PATH)
    assert spec is not None
    assert spec.loader is not None
    tool: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    tool.ran = []
    monkeypatch.setattr(tool, "as_root", lambda *command, text=None: tool.ran.append(command))
    return tool


def test_services_are_found_among_the_files_of_packages(install: Any) -> None:
    units, scripts = install.services_in(FILES)
    assert units == {"redis-server.service", "pgbouncer.socket"}
    assert scripts == {"redis-server"}


def test_what_starts_with_the_machine_is_found_by_its_links(install: Any, tmp_path: Path) -> None:
    for link in ("systemd/system/multi-user.target.wants/a.service", "rc3.d/S01a", "rc3.d/K01b"):
        (tmp_path / link).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / link).symlink_to("/nowhere")
    assert [install.starts_by_unit(f"{it}.service", tmp_path) for it in "ab"] == [True, False]
    assert [install.starts_by_script(it, tmp_path) for it in "ab"] == [True, False]


def test_services_of_packages_that_came_are_left_off_and_of_others_are_not(
    install: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed, asked = {"old"}, []

    def told(*command: str) -> str:
        asked.append(command)
        return FILES

    monkeypatch.setattr(install, "installed_packages", lambda: {*installed})
    monkeypatch.setattr(install, "_told", told)
    monkeypatch.setattr(install, "starts_by_script", lambda script: True)
    monkeypatch.setattr(install, "starts_by_unit", lambda unit: unit == "pgbouncer.socket")
    with contextlib.suppress(KeyError), install.services_left_off():
        installed |= {"new", "newer"}
        raise KeyError("the installation broke off")
    assert asked == [("dpkg", "-L", "new", "newer")]
    by_script, by_unit = install.ran
    assert by_script == ("update-rc.d", "redis-server", "disable")
    assert by_unit[1:] == ("disable", "pgbouncer.socket")
    install.ran.clear()
    with install.services_left_off():
        pass
    assert install.ran == []


@pytest.mark.parametrize("there", [False, True])
def test_files_that_hold_services_back_are_removed_however_it_ends(
    install: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, there: bool
) -> None:
    for name, manager in (
        ("NO_CLUSTER", install.no_cluster_made),
        ("POLICY", install.services_held_back),
    ):
        path = tmp_path / name
        if there:
            path.write_text("the user's own")
        monkeypatch.setattr(install, name, path)
        with contextlib.suppress(KeyError), manager():
            assert (("tee", str(path)) in install.ran) is not there
            raise KeyError("the installation broke off")
        assert (("rm", "-f", str(path)) in install.ran) is not there


def test_packages_are_installed_with_all_of_it_held_back(
    install: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside: list[str] = []

    def noted(name: str) -> Any:
        @contextmanager
        def manager() -> Iterator[None]:
            inside.append(name)
            yield
            assert install.ran[-1][-2:] == ("--no-install-recommends", "redis-server")
            inside.remove(name)

        return manager

    holds = ("services_held_back", "no_cluster_made", "services_left_off")
    for name in holds:
        monkeypatch.setattr(install, name, noted(name))
    monkeypatch.setattr(install.shutil, "which", lambda name: name)
    at_work: list[set[str]] = []
    run = install.as_root
    monkeypatch.setattr(
        install, "as_root", lambda *command: (at_work.append({*inside}), run(*command))
    )
    install.install_packages(["redis-server"])
    assert at_work == [{*holds}] * 2
    assert inside == []
