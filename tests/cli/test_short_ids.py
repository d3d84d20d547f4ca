"""Ids as they are printed and typed: a unique beginning is enough."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

import pytest

import sapwood
from sapwood.cli.short_ids import short

from .command import Command


@pytest.fixture
def made(sap: Command, folder: Path) -> tuple[Command, str, list[str]]:
    """Add a session under an id that was made, with messages under such ids; give all of them."""
    with sapwood.open(f"sqlite:///{folder}/agent.db") as sessions:
        chat = sessions.create(title="Made")
        messages = [chat.append("user", f"number {n}").id for n in range(3)]
        return sap, chat.id, messages


def test_what_a_program_made_is_cut_and_what_somebody_chose_is_not() -> None:
    made = "065f3c21a80b44" + "0123456789abcdef"
    assert short(made) == "065f3c21a80b44"
    assert short("0199aabb-ccdd-7eee-8fff-001122334455") == "0199aabb-ccdd-7eee"
    assert short(uuid.UUID(int=15).hex) == "0" * 14
    for name in ("support", "m1", "x" * 30, "a" * 29, "0199aabb", made.upper(), made + "0"):
        assert short(name) == name


def test_short_ids_are_printed_and_taken_everywhere(made: tuple[Command, str, list[str]]) -> None:
    sap, id, messages = made
    name, message = id[:14], messages[1][:14]
    assert sap("ls").splitlines()[1].split()[0] == name
    out = sap("show", name)
    assert out.startswith(f"{name}  Made")
    assert message in out
    assert f"user  {message}  " in sap("show", name, "--history")
    [head, *_] = sap("search", "--session", name, "number 1").splitlines()
    assert head.startswith(f"{name}  {message}  user")
    assert f"  {name} #2  user: number 1" in sap("tail", "--session", name)
    for printed in (out, sap("ls"), sap("tail"), head):
        assert id not in printed
        assert messages[1] not in printed
    assert sap.json("show", name)["session"]["id"] == id
    assert sap.json("show", name, "--leaf", message)["session"]["id"] == id
    assert sap.json("fork", name, "other", "--at", message)["tip"] == messages[1]
    assert [it["id"] for it in sap.json("ls", "--parent", name)["sessions"]] == ["other"]
    assert f"{name} #2" in sap("ls", "--parent", name)
    assert f"fork of {name}" not in sap("show", "other")
    assert f"branch of {name} at depth 2" in sap("show", "other")
    assert sap.json("usage", name)["session"] == id
    assert sap.json("context", name)["session"] == id
    assert sap.json("compact", name, "--list")["session"] == id
    assert sap("rename", name, "New") == f"{name}  New\n"
    assert json.loads(sap("export", name).splitlines()[1])["id"] == id
    assert id not in sap("rm", "other")
    sap("rm", name)
    assert name not in sap("ls")


def test_a_terminal_is_shown_no_whole_id(made: tuple[Command, str, list[str]]) -> None:
    sap, id, messages = made
    above, message = messages[1:]
    code, forked = sap.in_terminal("fork", id)
    assert (code, len(forked.strip())) == (0, 14)
    for args in (
        ("show", id, message),
        ("export", id, "--format", "markdown"),
        ("rm", id, "--yes"),
    ):
        code, seen = sap.in_terminal(*args, columns=200)
        assert code == 0
        assert not [whole for whole in (id, above, message) if whole in seen]
        assert id[:14] in seen or message[:14] in seen


def test_a_terminal_is_told_which_short_ids_are_meant(sap: Command, folder: Path) -> None:
    ids = [f"065f3c21a80b{n}4" + "0123456789abcdef" for n in range(3)]
    with sapwood.open(f"sqlite:///{folder}/agent.db") as sessions:
        for id in ids:
            sessions.create(id)
    code, seen = sap.in_terminal("show", "065f3c", columns=200)
    assert code == 2
    assert all(f"'{id[:14]}'" in seen for id in ids)
    assert repr(ids[0]) in sap.fails("show", "065f3c")[1]


def test_a_fork_is_listed_with_all_that_it_shows(sap: Command, folder: Path) -> None:
    """Its messages mean the same as its tokens."""
    with sapwood.open(f"sqlite:///{folder}/agent.db") as sessions:
        talk = sessions.session("talk")
        for n in range(4):
            talk.append("user", f"number {n}")
        talk.fork("talk-2").append("user", "one more")
        sessions.session("empty")
    listed = {line.split()[0]: line for line in sap("ls").splitlines()[1:]}
    assert " talk #4  " in listed["talk-2"]
    assert listed["talk-2"].split("talk #4")[1].split()[0] == "5"
    assert listed["talk"].split()[1] == "4"
    assert listed["empty"].split()[1] == "0"


def test_a_name_may_be_begun_and_a_whole_one_is_meant_first(sap: Command) -> None:
    sap("fork", "support", "support-2")
    assert sap.json("show", "support")["session"]["id"] == "support"
    assert sap.json("show", "sec")["session"]["id"] == "second"
    assert sap.json("show", "support-")["session"]["id"] == "support-2"


def test_several_that_begin_so_are_named(sap: Command, folder: Path) -> None:
    with sapwood.open(f"sqlite:///{folder}/agent.db") as sessions:
        for n in range(9):
            sessions.create(f"many-{n}").append("user", "x", id="m")
        chat = sessions.get("many-0")
        for n in range(3):
            chat.append("user", "x", id=f"same-{n}")
    code, said = sap.fails("show", "many")
    assert code == 2
    assert "several sessions begin with 'many': 'many-" in said
    assert said.count("'many-") == 5
    assert "and others" in said
    code, said = sap.fails("show", "many-0", "same")
    assert (code, said.count("'same-")) == (2, 3)
    assert "and others" not in said
    assert sap.fails("fork", "many-0", "x", "--at", "same-")[0] == 2


def test_a_name_is_only_deleted_when_it_is_whole(sap: Command) -> None:
    code, said = sap.fails("rm", "secon")
    assert (code, "did you mean 'second'?" in said) == (3, True)
    sap("rm", "second")


def test_a_chat_takes_a_short_id_and_begins_anew_under_a_name(
    made: tuple[Command, str, list[str]],
) -> None:
    sap, id, _ = made
    sap("chat", id[:14], input=b"hello\n")
    assert sap.json("show", id)["session"]["messages"] == 5
    sap("chat", "sec", input=b"hello\n")
    assert sap.json("show", "sec")["session"]["id"] == "sec"


def test_a_message_is_shown_in_full(made: tuple[Command, str, list[str]], folder: Path) -> None:
    sap, id, messages = made
    with sapwood.open(f"sqlite:///{folder}/agent.db") as sessions:
        chat = sessions.get(id)
        call = sapwood.ToolCallPart(call_id="c", name="look", input={"place": "here " * 200})
        asked = chat.append("assistant", [call], metadata={"why": "asked"}, name="bob")
        chat.delete(messages[0])
    out = sap("show", id[:14], asked.id[:14])
    assert out.startswith(f"assistant bob  {asked.id}  20")
    assert "here " * 10 in out
    assert out.count("here") == 200
    assert f"message 4 · follows {messages[2]} · " in out
    assert 'metadata: {"why":"asked"}' in out
    found = sap.json("show", id, asked.id)
    assert (found["id"], found["parent"], found["session"]) == (asked.id, messages[2], id)
    code, said = sap.fails("show", id, messages[0])
    assert (code, "was deleted" in said) == (3, True)
    assert sap.fails("show", id, "nope")[0] == 3
    for option in ("--history", "--all", "--ids"):
        code, said = sap.fails("show", id, asked.id, option)
        assert (code, "leave the other options out" in said) == (2, True)


def test_a_summary_is_shown_in_full(sap: Command) -> None:
    out = sap("show", "support", "o1")
    assert out.startswith("summary  o1  20")
    assert "  An order is on its way.\n" in out
    assert "messages 1 to 2: 20 tokens became 6" in out
    assert sap.json("show", "support", "o1")["kind"] == "overlay"


def test_a_message_of_a_fork_tells_its_home(sap: Command) -> None:
    assert "message 1 · the first · " in sap("show", "second", "m1")
    assert "written in support" in sap("show", "second", "m1")
    assert "written in" not in sap("show", "support", "m1")
