"""Long output in a terminal goes to a pager, and colours are shown where they are wanted."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import sapwood

from .command import Command

COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture
def long(sap: Command, folder: Path) -> Command:
    """Add more sessions than a screen has lines, and a pager that notes what it is given."""
    with sapwood.open(f"sqlite:///{folder}/agent.db", durability="normal") as sessions:
        for n in range(60):
            sessions.create(f"s{n}")
    pager = folder / "pager.sh"
    pager.write_text("#!/bin/sh\necho begun $LESS\ncat > paged\necho ended\n")
    pager.chmod(0o700)
    sap.env["SAPWOOD_PAGER"] = f"{pager}"
    return sap


def test_what_does_not_fit_on_the_screen_goes_to_the_pager(long: Command, folder: Path) -> None:
    code, seen = long.in_terminal("ls")
    assert code == 0
    paged = (folder / "paged").read_text().splitlines()
    assert len(paged) == 51
    assert COLOUR.search(paged[0])
    # The pager's end comes first, and then what is no part of the answer.
    assert re.fullmatch(r"begun FRX\nended\nthere are more: .*--cursor.*\n", seen)


@pytest.mark.parametrize(
    "args",
    [["ls", "--limit", "5"], ["ls", "--no-pager"], ["--no-pager", "ls"], ["rename", "s1", "x"]],
)
def test_what_fits_is_printed_at_once(long: Command, folder: Path, args: list[str]) -> None:
    code, seen = long.in_terminal(*args)
    assert (code, "begun" in seen, (folder / "paged").exists()) == (0, False, False)
    assert "s1" in seen or "s59" in seen


def test_a_pipe_has_no_pager(long: Command, folder: Path) -> None:
    assert len(long("ls", "--all").splitlines()) == 63
    assert not (folder / "paged").exists()


@pytest.mark.parametrize("pager", ["", "cat", "no-such-pager"])
def test_without_a_pager_all_is_printed(long: Command, pager: str) -> None:
    long.env["SAPWOOD_PAGER"] = pager
    assert len(long.in_terminal("ls")[1].splitlines()) == 52


def test_who_leaves_the_pager_has_read_enough(long: Command, folder: Path) -> None:
    with sapwood.open(f"sqlite:///{folder}/agent.db", durability="normal") as sessions:
        sessions.session("wide").append("user", "line\n" * 100_000)
    long.env["SAPWOOD_PAGER"] = "head -n 1"
    code, seen = long.in_terminal("show", "wide", "--history")
    assert (code, len(seen.splitlines())) == (0, 1)


def test_an_error_is_told_after_what_was_printed(long: Command) -> None:
    code, seen = long.in_terminal("ls", "--cursor", "nonsense")
    assert (code, seen.startswith("sapwood: ")) == (2, True)


@pytest.mark.parametrize(
    ("options", "env", "is_coloured"),
    [
        ([], {}, False),
        (["--color", "always"], {}, True),
        (["--color", "always"], {"NO_COLOR": "1"}, True),
        ([], {"FORCE_COLOR": "1"}, True),
        ([], {"FORCE_COLOR": "0"}, False),
        ([], {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        (["--color", "never"], {"FORCE_COLOR": "1"}, False),
        (["--color", "auto"], {"FORCE_COLOR": "1"}, False),
    ],
)
def test_colours_in_a_pipe_are_those_asked_for(
    sap: Command, options: list[str], env: dict[str, str], is_coloured: bool
) -> None:
    for args in (["show", "support", *options], [*options, "show", "support"]):
        done = sap.run(*args, **env)
        assert bool(COLOUR.search(done.stdout)) is is_coloured
        assert "When will it arrive?" in done.stdout


def test_colours_in_a_terminal_may_be_refused(sap: Command) -> None:
    assert "\x1b" not in sap.in_terminal("show", "support", "--color", "never")[1]
    sap.env["NO_COLOR"] = ""
    assert "\x1b" in sap.in_terminal("show", "support")[1]
    assert sap.fails("ls", "--color", "sometimes")[0] == 2
