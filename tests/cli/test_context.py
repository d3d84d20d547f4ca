"""`context`: the blocks that are stored for a session, and its frozen prompt."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import sapwood
from sapwood.context import BlockConfig, StoreEntries

from .command import Command

BLOCKS = [
    BlockConfig("soul", default="You are patient.", readonly=True),
    BlockConfig("memory", description="What you know", max_tokens=50, default="Nothing yet."),
    BlockConfig("rules", scope="owner"),
    BlockConfig("notes/of day", scope="agent", agent="a/b%2F"),
]


def blocks_of(folder: Path) -> Any:
    """Open the session as the program does that has set up its blocks."""
    return sapwood.open(f"sqlite:///{folder}/agent.db", context=BLOCKS)


@pytest.fixture
def built(sap: Command, folder: Path) -> Command:
    """Add blocks of all scopes to a session, entries, and a frozen prompt."""
    with blocks_of(folder) as sessions:
        chat = sessions.get("support")
        chat.replace_context_block("memory", "Likes tea.")
        chat.append_context_block("memory", "Lives in Lisbon.")
        chat.replace_context_block("rules", "Be brief.")
        chat.replace_context_block("notes/of day", "It rains.")
        chat.system_prompt()
        entries = StoreEntries(sessions.store, "default", "facts")
        entries.put("first", "The sky is blue.", "about the sky")
        entries.put("second", "Water is wet.")
    return sap


def test_the_stored_blocks_of_all_scopes_are_listed(built: Command) -> None:
    done = built.run("context", "support")
    lines = [re.split(r"  +", line) for line in done.stdout.splitlines()]
    assert lines[0] == ["BLOCK", "SCOPE", "VERSION", "TOKENS", "BY", "CHANGED", "TEXT"]
    assert {(line[0], line[1], line[-1]) for line in lines[1:]} == {
        ("memory", "session", "Likes tea. Lives in Lisbon."),
        ("rules", "owner", "Be brief."),
        ("notes/of day", "agent a/b%2F", "It rains."),
        ("facts", "owner", "2 entries"),
    }
    assert done.stderr == "given by the program, see --prompt: soul\n"


def test_the_list_in_json_has_blocks_and_entries_whole(built: Command) -> None:
    found = built.json("context", "support")
    blocks = {it["label"]: it for it in found["blocks"]}
    assert blocks["memory"]["content"] == "Likes tea.\nLives in Lisbon."
    assert (blocks["memory"]["origin"], blocks["memory"]["by"]) == ("user", "support")
    assert blocks["notes/of day"]["agent"] == "a/b%2F"
    assert blocks["rules"]["updated_at"].endswith("Z")
    assert [(it["label"], it["key"], it["description"]) for it in found["entries"]] == [
        ("facts", "first", "about the sky"),
        ("facts", "second", None),
    ]
    assert found["given_by_program"] == ["soul"]


def test_another_session_sees_only_what_is_shared(built: Command) -> None:
    labels = {it["label"] for it in built.json("context", "second")["blocks"]}
    assert labels == {"rules", "notes/of day"}
    assert built.json("context", "second")["given_by_program"] == []


def test_without_blocks_it_says_so_beside_the_output(sap: Command) -> None:
    done = sap.run("context", "support")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "no blocks are stored\n")


def test_one_block_is_shown_in_full(built: Command) -> None:
    out = built("context", "support", "memory")
    assert re.match(r"memory  session  version \d+  \d+ tokens  by user in support\n", out)
    assert out.endswith("  Likes tea.\n  Lives in Lisbon.\n\n")
    [block] = built.json("context", "support", "memory")["blocks"]
    assert block["label"] == "memory"


def test_entries_are_shown_under_their_label(built: Command) -> None:
    out = built("context", "support", "facts")
    assert "first  " in out
    assert "about the sky" in out
    assert "Water is wet." in out


def test_a_block_is_set_and_the_program_reads_it(built: Command, folder: Path) -> None:
    assert built("context", "support", "memory", "--set", "Likes coffee.").startswith(
        "memory  version "
    )
    with blocks_of(folder) as sessions:
        block = sessions.get("support").get_context_block("memory")
        assert (block.content, block.origin) == ("Likes coffee.", "user")
        assert "Likes coffee." in sessions.get("support").context_updates()


def test_a_shared_block_is_changed_where_it_is_stored(built: Command) -> None:
    built("context", "support", "rules", "--append", "Be kind.")
    built("context", "support", "notes/of day", "--append", "It still rains.")
    found = {it["label"]: it for it in built.json("context", "second")["blocks"]}
    assert found["rules"]["content"] == "Be brief.\nBe kind."
    assert (found["rules"]["scope"], found["rules"]["by"]) == ("owner", "support")
    assert found["notes/of day"]["content"] == "It rains.\nIt still rains."
    assert len(built.json("context", "support")["blocks"]) == 3


def test_text_may_come_through_standard_input(built: Command) -> None:
    built("context", "support", "memory", "--set", "-", input="two\nlines é\n".encode())
    assert built.json("context", "support", "memory")["blocks"][0]["content"] == "two\nlines é"
    code, said = built.fails("context", "support", "memory", "--set", "-", input=b"\xff")
    assert (code, "not UTF-8" in said) == (2, True)


def test_a_block_that_was_never_written_is_set_for_the_session(sap: Command, folder: Path) -> None:
    assert sap.json("context", "support", "memory", "--set", "Likes tea.")["scope"] == "session"
    with blocks_of(folder) as sessions:
        assert sessions.get("support").get_context_block("memory").content == "Likes tea."
    new = sap.json("context", "support", "rules", "--set", "Be brief.", "--scope", "owner")
    assert (new["scope"], new["agent"], new["content"]) == ("owner", None, "Be brief.")
    new = sap.json("context", "support", "rules", "--set", "Be calm.", "--agent", "nurse")
    assert (new["scope"], new["agent"]) == ("agent", "nurse")


def test_nothing_is_appended_to_a_default_that_is_not_known(sap: Command, folder: Path) -> None:
    code, said = sap.fails("context", "support", "memory", "--append", "Likes tea.")
    assert (code, "--set" in said) == (2, True)
    with blocks_of(folder) as sessions:
        assert sessions.get("support").get_context_block("memory").content == "Nothing yet."


def test_undo_goes_back_to_the_default_and_no_further(built: Command, folder: Path) -> None:
    undone = [built.json("context", "support", "memory", "--undo")["content"] for _ in range(2)]
    assert undone == ["Likes tea.", None]
    assert "(what its program gives it)" in built("context", "support", "memory")
    assert "(what its program gives it)" in built("context", "support")
    with blocks_of(folder) as sessions:
        assert sessions.get("support").get_context_block("memory").content == "Nothing yet."
    code, said = built.fails("context", "support", "memory", "--undo")
    assert (code, "no earlier content" in said) == (3, True)
    code, _ = built.fails("context", "support", "memory", "--append", "x")
    assert code == 2


def test_versions_are_listed_with_what_was_taken_back(built: Command) -> None:
    built("context", "support", "memory", "--undo")
    found = built.json("context", "support", "memory", "--versions")
    assert [(it["content"], it["undone"]) for it in found["versions"]] == [
        ("Likes tea.", False),
        ("Likes tea.\nLives in Lisbon.", True),
    ]
    out = built("context", "support", "memory", "--versions")
    assert out.count("version ") == 2
    assert out.count("taken back") == 1


def test_the_frozen_prompt_is_shown_as_it_is(built: Command, folder: Path) -> None:
    with blocks_of(folder) as sessions:
        frozen = sessions.get("support").system_prompt()
    built("context", "support", "memory", "--set", "Likes coffee.")
    assert built("context", "support", "--prompt") == f"{frozen}\n"
    found = built.json("context", "support", "--prompt")
    assert found["prompt"] == frozen
    assert found["tokens"] > 0


def test_the_report_says_what_changed_the_prompt_and_what_changed_since(
    built: Command, folder: Path
) -> None:
    assert built.json("context", "support", "--report")["changed_since"] == []
    built("context", "support", "memory", "--set", "Likes coffee.")
    found = built.json("context", "support", "--report")
    assert found["changed_since"] == ["memory"]
    assert [it["reason"] for it in found["changes"]] == ["first"]
    with blocks_of(folder) as sessions:
        sessions.get("support").refresh_system_prompt()
    found = built.json("context", "support", "--report")
    assert (found["frozen"], found["changed_since"]) == (True, [])
    newest = found["changes"][0]
    assert (newest["reason"], newest["blocks"]) == ("refresh", ["memory"])
    assert newest["first_difference"] > 0
    out = built("context", "support", "--report")
    assert out.startswith(f"{found['tokens']} tokens, {found['bytes']} bytes\n")
    assert re.search(r"refresh +\d+ +\d+ +memory\n", out)


def test_without_a_prompt_it_says_so_beside_the_output(sap: Command) -> None:
    for mode in ("--prompt", "--report"):
        done = sap.run("context", "support", mode)
        assert (done.returncode, done.stdout) == (0, "")
        assert "no prompt is frozen" in done.stderr
    assert sap.json("context", "support", "--prompt")["prompt"] is None
    assert sap.json("context", "support", "--report")["frozen"] is False


def test_a_label_in_two_places_needs_a_scope(built: Command) -> None:
    built("context", "support", "rules", "--set", "Mine.", "--scope", "session")
    code, said = built.fails("context", "support", "rules")
    assert code == 2
    assert "stored for the session and for the owner" in said
    for scope, content in (("session", "Mine."), ("owner", "Be brief.")):
        [block] = built.json("context", "support", "rules", "--scope", scope)["blocks"]
        assert block["content"] == content


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["nobody"], 3, "no session"),
        (["support", "nothing"], 3, "nothing is stored"),
        (["support", "nothing", "--undo"], 3, "nothing is stored"),
        (["support", "nothing", "--versions"], 3, "nothing is stored"),
        (["support", "facts", "--versions"], 3, "nothing is stored"),
        (["support", "facts", "--set", "x"], 2, "has entries"),
        (["support", "--set", "x"], 2, "needs a LABEL"),
        (["support", "--undo"], 2, "needs a LABEL"),
        (["support", "memory", "--prompt"], 2, "takes no LABEL"),
        (["support", "memory", "--set", "x", "--undo"], 2, "exclude each other"),
        (["support", "--prompt", "--report"], 2, "exclude each other"),
        (["support", "--scope", "owner"], 2, "need a LABEL"),
        (["support", "memory", "--scope", "agent"], 2, "needs --agent"),
        (["support", "memory", "--scope", "owner", "--agent", "x"], 2, "exclude each other"),
        (["support", "memory", "--scope", "owner"], 3, "nothing is stored"),
        (["support", "a\nb", "--set", "x"], 2, ""),
        (["support", "memory", "--set", "x", "--agent", ""], 2, ""),
    ],
)
def test_what_cannot_be_meant_is_refused(
    built: Command, args: list[str], code: int, said: str
) -> None:
    before = built.json("context", "support")
    done = built.run("context", *args, "--json")
    told = json.loads(done.stderr)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in told["message"]
    assert built.json("context", "support") == before


def test_a_block_that_cannot_be_read_is_told_and_not_passed_over(
    built: Command, folder: Path
) -> None:
    with sapwood.open(f"sqlite:///{folder}/agent.db") as sessions:
        sessions.store.put_document("default", "block/memory", b"{", session="support")
    code, said = built.fails("context", "support")
    assert (code, "block/memory" in said) == (6, True)
