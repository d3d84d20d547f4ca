"""`sapwood copy`: what it prints, its exit codes, and what becomes of it when it is killed."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from tier import often

import sapwood
from sapwood.model import Usage
from sapwood.testing import COUNTS
from sapwood.transfer import Exported, export_lines

from .command import Command

FROM = "sqlite:///agent.db"
KILLS = often(6, 24)


def lines(folder: Path, name: str, owner: str = "default") -> list[dict[str, Any]]:
    """Export a database, without what a store decides by itself."""
    with sapwood.open(f"sqlite:///{folder}/{name}", owner=owner) as sessions:
        data = b"".join(export_lines(sessions.store, owner, None, Exported()))
    kept = []
    for line in map(json.loads, data.splitlines()):
        for key in ("version", "active_us", "created_by"):
            line.pop(key, None)
        if line["kind"] == "overlay":
            del line["created_us"]
        kept.append(line)
    return kept


def events(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_a_copy_is_exported_as_its_source_is(sap: Command, folder: Path) -> None:
    told = "2 sessions copied, 0 updated, 0 there already; 5 messages written\n"
    assert sap("copy", FROM, "sqlite:///b.db") == told
    assert lines(folder, "b.db") == lines(folder, "agent.db")
    told = "0 sessions copied, 0 updated, 2 there already; 0 messages written\n"
    assert sap("copy", FROM, "sqlite:///b.db") == told
    assert json.loads(sap("doctor", "--store", "sqlite:///b.db", "--json"))["problems"] == []


def test_with_json_each_line_is_an_event(sap: Command) -> None:
    found = events(sap("copy", FROM, "sqlite:///b.db", "--json"))
    assert found[0] == {"event": "began", "owners": 1, "messages": 5}
    assert found[-1] == {
        "event": "done",
        "copied": 2,
        "updated": 0,
        "equal": 0,
        "failed": 0,
        "written": 5,
    }
    sessions = [it for it in found if it["event"] == "session"]
    assert [(it["session"], it["status"]) for it in sessions] == [
        (None, "equal"),
        ("support", "copied"),
        ("second", "copied"),
    ]
    assert [it for it in found if it["event"] == "progress"][-1] == {
        "event": "progress",
        "gone_over": 5,
        "verified": 5,
        "messages": 5,
    }


def test_a_terminal_shows_a_bar(sap: Command) -> None:
    code, seen = sap.in_terminal("copy", FROM, "sqlite:///b.db")
    assert code == 0
    assert "of 5 messages" in seen
    assert "2 sessions copied" in seen
    assert "of 5 messages" not in sap.run("copy", FROM, "sqlite:///c.db").stderr


def test_a_conflict_is_told_with_its_place(sap: Command, folder: Path) -> None:
    sap("copy", FROM, "sqlite:///b.db")
    sap("rename", "support", "Theirs", "--store", "sqlite:///b.db")
    before = lines(folder, "b.db")
    done = sap.run("copy", FROM, "sqlite:///b.db")
    assert done.returncode == 4
    assert "owner 'default', session 'support': nothing of it was written" in done.stderr
    assert "its title is another" in done.stderr
    assert done.stdout.startswith("0 sessions copied")
    done = sap.run("copy", FROM, "sqlite:///b.db", "--json")
    failed, fork = (it for it in events(done.stdout) if it["event"] == "failed")
    assert (failed["owner"], failed["session"]) == ("default", "support")
    assert (fork["owner"], fork["session"]) == ("default", "second")
    assert (failed["error"], json.loads(done.stderr)["exit_code"]) == ("conflict", 4)
    assert lines(folder, "b.db") == before


def test_what_cannot_be_carried_is_noted(sap: Command) -> None:
    sap("rm", "support", "--yes")
    done = sap.run("copy", FROM, "sqlite:///b.db")
    assert done.returncode == 0
    assert "note: owner 'default', session 'second': came out of 'support'" in done.stderr


def test_one_owner_or_all(sap: Command, folder: Path) -> None:
    with sapwood.open(f"sqlite:///{folder}/agent.db", owner="bob") as sessions:
        sessions.session("bobs").append("user", "Hello")
    sap("copy", FROM, "sqlite:///all.db")
    assert len(lines(folder, "all.db")) == len(lines(folder, "agent.db"))
    assert lines(folder, "all.db", "bob") == lines(folder, "agent.db", "bob")
    for args in (["copy", FROM, "sqlite:///one.db", "--owner", "bob"],):
        sap(*args)
    sap("--owner", "bob", "copy", FROM, "sqlite:///two.db")
    for name in ("one.db", "two.db"):
        assert lines(folder, name, "bob") == lines(folder, "agent.db", "bob")
        assert [it["kind"] for it in lines(folder, name)] == ["header", "end"]
    sap.env["SAPWOOD_OWNER"] = "bob"
    sap("copy", FROM, "sqlite:///three.db")
    assert lines(folder, "three.db") == lines(folder, "agent.db")


@pytest.mark.parametrize(
    ("args", "code", "told"),
    [
        ([FROM, FROM], 2, "same store"),
        ([FROM, "sqlite:///./agent.db"], 2, "same store"),
        ([FROM, "sqlite:///link.db"], 2, "same store"),
        ([FROM], 2, "TO"),
        (["agent", "sqlite:///b.db"], 2, "FROM: the store's URL"),
        ([FROM, "b"], 2, "TO: the store's URL"),
        ([FROM, "sqlite:///b.db", "--store", FROM], 2, "no --store"),
        (["sqlite:///nope.db", "sqlite:///b.db"], 3, "there is no database 'nope.db': FROM has"),
        ([FROM, "sqlite:///b.db", "--owner", "eve"], 3, "no owner 'eve'"),
    ],
)
def test_what_is_wrong_is_told_before_a_file_is_made(
    sap: Command, folder: Path, args: list[str], code: int, told: str
) -> None:
    (folder / "link.db").symlink_to(folder / "agent.db")
    found, said = sap.fails("copy", *args)
    assert (found, told in said) == (code, True), said
    assert not (folder / "b.db").exists()
    assert not (folder / "nope.db").exists()


@pytest.fixture
def large(sap: Command, folder: Path) -> Command:
    """Give a database with forks, branches, usage, blocks and some thousand messages."""
    with sapwood.open(f"sqlite:///{folder}/agent.db", durability="normal") as sessions:
        for number in range(12):
            chat = sessions.session(f"chat{number}", tags=[f"t{number}"])
            for start in range(0, 600, 100):
                texts = [f"{start + n} of {number} " * 20 for n in range(100)]
                chat.append_all([("user", text) for text in texts])
            ids = [message.id for message in chat.history().messages_only]
            chat.append("assistant", "a branch", parent=ids[300])
            chat.add_overlay(ids[2], ids[200], "a summary")
            for n in range(5):
                chat.add_usage(Usage(id=f"u{n}", model="m", message=ids[n], input_tokens=n))
            chat.fork(f"fork{number}", ids[400]).append("user", "forked")
            sessions.store.put_document("default", f"k{number}", b"v")
    return sap


@pytest.mark.fault
def test_a_copy_that_is_killed_at_any_moment_ends_the_same_when_it_is_run_again(
    large: Command, folder: Path
) -> None:
    seed = random.randrange(10**9)
    print("seed", seed)  # noqa: T201
    chance = random.Random(seed)
    wanted = lines(folder, "agent.db")
    most = len(large("copy", FROM, "sqlite:///whole.db", "--json").splitlines())
    assert lines(folder, "whole.db") == wanted
    kills = number = 0
    while kills < KILLS:
        target = f"b{number}.db"
        process = large.start("copy", FROM, f"sqlite:///{target}", "--json", stdout=subprocess.PIPE)
        assert process.stdout is not None
        with process.stdout:
            for _ in range(chance.randrange(most // 2)):
                process.stdout.readline()
            time.sleep(chance.random() * 0.05)
            process.kill()
        if process.wait() == -signal.SIGKILL:
            kills += 1
        if chance.random() < 0.25:
            finish(large, folder, target, wanted)
            number += 1
    finish(large, folder, f"b{number}.db", wanted)
    COUNTS["copies killed and run again"] += kills


def finish(sap: Command, folder: Path, target: str, wanted: list[dict[str, Any]]) -> None:
    """Run the copy once more, to its end: it ends as one that was never killed."""
    sap("copy", FROM, f"sqlite:///{target}")
    assert lines(folder, target) == wanted
    assert json.loads(sap("doctor", "--store", f"sqlite:///{target}", "--json"))["problems"] == []
    with sapwood.open(f"sqlite:///{folder}/{target}") as sessions:
        documents = sessions.store.list_documents("default")
        assert not [it.key for it in documents if it.key.startswith("importing:")]
    again = events(sap("copy", FROM, f"sqlite:///{target}", "--json"))[-1]
    assert (again["equal"], again["written"]) == (26, 0)


@pytest.mark.fault
def test_an_interrupted_copy_goes_on_when_it_is_run_again(large: Command, folder: Path) -> None:
    process = large.start("copy", FROM, "sqlite:///b.db", "--json", stdout=subprocess.PIPE)
    assert process.stdout is not None
    with process.stdout:
        for _ in range(12):
            process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.stdout.read()
    assert process.wait() == 130
    finish(large, folder, "b.db", lines(folder, "agent.db"))
