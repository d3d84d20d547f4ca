"""`sapwood chat` without a model: commands, sessions, pipes, events."""

from __future__ import annotations

import json
import signal
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from endpoint import Endpoint

import sapwood
from sapwood.cli.chat.commands import COMMANDS

from .command import Command
from .talking import Talk, of_kind, talk, with_model

DOCS = Path(__file__).resolve().parents[2] / "docs"


def chat_of(sap: Command) -> str:
    return sap.json("ls", "--tag", "chat")["sessions"][0]["id"]


def said(sap: Command, session: str | None = None) -> list[tuple[str, str]]:
    entries = sap.json("show", session or chat_of(sap), "--history", "--all")["entries"]
    return [(it["role"], it["parts"][0].get("text", "")) for it in entries]


def test_the_stand_in_says_that_it_is_one_at_the_start_and_in_every_answer(empty: Command) -> None:
    done = empty.run("chat", input=b"hello\nfind hello\nand you?\n")
    assert done.returncode == 0
    assert "no model" in done.stderr
    roles = said(empty)
    answers = [text for role, text in roles if role == "assistant"]
    assert len(answers) == 4
    assert all(text.startswith("[offline stand-in]") for text in answers)


def test_the_stand_in_answers_the_same_to_the_same(empty: Command) -> None:
    outs = [empty("chat", f"c{n}", input=b"one two\nthree\n") for n in range(2)]
    assert outs[0] == outs[1]
    assert "number 1 has 2 words: “one two”" in outs[0]
    assert "number 2 has 1 word: “three”" in outs[0]


def test_what_was_said_is_stored_in_order(empty: Command) -> None:
    empty("chat", input=b"first\nsecond\n")
    roles = said(empty)
    assert [text for role, text in roles if role == "user"] == ["first", "second"]
    assert [role for role, _ in roles] == ["user", "assistant"] * 2


def test_tool_calls_are_shown_and_stored(empty: Command) -> None:
    out = empty("chat", input=b"the parcel is lost\nfind parcel\n")
    assert '→ session_search {"query":"parcel"}' in out
    assert "← " in out
    shown = empty.json("show", chat_of(empty), "--history")["entries"]
    assert [it["role"] for it in shown[2:]] == ["user", "assistant", "tool", "assistant"]
    assert shown[3]["parts"][1]["call_id"] == shown[4]["parts"][0]["call_id"]
    assert "the parcel is lost" in shown[4]["parts"][0]["output"]


def test_without_tools_none_is_called(empty: Command) -> None:
    assert "→" not in empty("chat", "--no-tools", input=b"find parcel\n")


def test_the_last_chat_goes_on(empty: Command) -> None:
    empty("chat", input=b"first\n/new\nsecond\n")
    with sapwood.open(f"sqlite:///{empty.folder}/agent.db") as sessions:
        sessions.session("of another program").append("user", "hello")
    [entered] = of_kind(talk(empty, "/quit"), "entered")
    assert (entered["is_new"], entered["title"], entered["messages"]) == (False, "second", 2)


def test_a_session_is_named_and_made_if_it_is_not_there(sap: Command) -> None:
    [entered] = of_kind(talk(sap, args=["support"]), "entered")
    assert (entered["session"], entered["is_new"], entered["messages"]) == ("support", False, 5)
    [entered] = of_kind(talk(sap, "hello", args=["mine"]), "entered")
    assert (entered["session"], entered["is_new"]) == ("mine", True)
    assert said(sap, "mine")[0] == ("user", "hello")


def test_the_first_words_become_the_title_of_a_chat_only(sap: Command) -> None:
    talk(sap, "hello " * 40, "more", args=["mine"])
    talk(sap, "hello", args=["support"])
    titles = {it["id"]: it["title"] for it in sap.json("ls")["sessions"]}
    assert titles["mine"].startswith("hello hello")
    assert len(titles["mine"]) <= 60
    assert titles["support"] == "The lost parcel"


def test_new_begins_another_conversation(empty: Command) -> None:
    events = talk(empty, "one", "/new The second", "two")
    first, second = of_kind(events, "entered")
    assert first["session"] != second["session"]
    assert (second["title"], second["is_new"]) == ("The second", True)
    assert said(empty, second["session"])[0] == ("user", "two")


def test_undo_and_redo_move_by_turns_and_lose_nothing(empty: Command) -> None:
    events = talk(empty, "one", "two", "find one", "/undo", "/undo", "/redo", "/redo", "/undo")
    ends = [it["id"] for it in of_kind(events, "ended")]
    tips = [it["tip"] for it in of_kind(events, "moved")]
    assert tips == [ends[1], ends[0], ends[1], ends[3], ends[1]]
    talk(empty, "/undo", "/undo", "other")
    assert [text for role, text in said(empty) if role == "user"] == ["other"]
    shown = empty.json("show", chat_of(empty), "--all")["messages"]
    users = [it["parts"][0]["text"] for it in shown if it["role"] == "user"]
    assert sorted(users) == ["find one", "one", "other", "two"]


def test_there_is_an_end_to_undo_and_redo(empty: Command) -> None:
    done = empty.run("chat", input=b"/undo\n/redo\nhello\n/redo\n/undo\n/undo\n")
    assert done.stderr.count("there is no turn to undo") == 2
    assert done.stderr.count("nothing to redo") == 2
    assert "it goes on at its beginning" in done.stdout


def test_branches_are_listed_and_gone_to(empty: Command) -> None:
    events = talk(
        empty, "/branch", "one", "/undo", "two", "/branch", "/branch 1", "/branch", "more"
    )
    none, both, moved = (it["branches"] for it in of_kind(events, "branches"))
    assert none == []
    assert [it["is_tip"] for it in both] == [False, True]
    assert [it["is_tip"] for it in moved] == [True, False]
    assert [text for role, text in said(empty) if role == "user"] == ["one", "more"]
    out = empty("chat", input=b"/branch\n")
    assert [line[:4] for line in out.splitlines()] == ["* 1 ", "  2 "]


@pytest.mark.parametrize("number", ["0", "2", "-1", "x", "1.5", "²"])
def test_a_branch_that_is_not_there_is_told(empty: Command, number: str) -> None:
    done = empty.run("chat", input=f"one\n/branch {number}\n".encode())
    assert (done.returncode, "there is no branch" in done.stderr) == (1, True)


def test_again_answers_on_a_branch(empty: Command) -> None:
    events = talk(empty, "one", "/again", "/branch")
    first, second = of_kind(events, "ended")
    assert first["id"] != second["id"]
    assert len(of_kind(events, "branches")[0]["branches"]) == 2
    assert len(said(empty)) == 2
    assert empty.run("chat", "new", input=b"/again\n").returncode == 1


def test_tree_search_context_usage_and_help_are_shown(empty: Command) -> None:
    out = empty("chat", input=b"a parcel\n/tree\n/search parcel\n/context\n/usage\n/help\n")
    for text in ("◀ tip", "user  ", "tokens shown", "2 messages", "no model was asked", "/quit"):
        assert text in out
    events = talk(empty, "/tree", "/search parcel", "/context", "/usage", "/help")
    assert len(of_kind(events, "tree")[0]["messages"]) == 2
    assert len(of_kind(events, "search")[0]["hits"]) == 2
    assert of_kind(events, "context")[0]["messages"] == 2
    assert of_kind(events, "usage")[0]["models"] == []
    assert len(of_kind(events, "help")[0]["commands"]) == len(COMMANDS)


def test_nothing_found_and_nothing_to_look_for_are_told(empty: Command) -> None:
    done = empty.run("chat", input=b"hello\n/search nowhere\n/search\n")
    assert "nothing found" in done.stdout
    assert "sapwood: " in done.stderr


def test_an_unknown_command_is_told_and_the_chat_goes_on(empty: Command) -> None:
    done = empty.run("chat", input=b"/nope\n/\n/NOPE x\nhello\n")
    assert done.returncode == 1
    assert done.stderr.count("there is no command") == 3
    assert "/help" in done.stderr
    assert len(said(empty)) == 2


def test_two_slashes_or_quotes_make_any_text_a_message(empty: Command) -> None:
    text = b'//etc\n"""\n/quit\n\n  indented\n"""\n"""one line"""\n"""never closed\nmore\n'
    empty("chat", input=text)
    users = [text for role, text in said(empty) if role == "user"]
    assert users == ["/etc", "/quit\n\n  indented", "one line", "never closed\nmore"]


def test_empty_lines_say_nothing_and_bytes_that_are_no_text_do_no_harm(empty: Command) -> None:
    empty("chat", input=b'\n   \n\t\n""""""\ncaf\xe9 \xff\n\r\n')
    assert [text for role, text in said(empty) if role == "user"] == ["caf\ufffd \ufffd"]


def test_quit_leaves_at_once(empty: Command) -> None:
    assert empty("chat", input=b"/quit\nhello\n") == ""
    assert said(empty) == []


def test_there_are_no_colour_codes_in_a_pipe_and_only_answers_on_standard_output(
    empty: Command,
) -> None:
    done = empty.run("chat", input=b"hello\nfind hello\n/tree\n/search hello\n/usage\n")
    assert "\x1b" not in done.stdout + done.stderr
    assert done.stdout.startswith("[offline stand-in]")
    assert "> " not in done.stderr


def test_events_tell_all_of_it(empty: Command) -> None:
    events = talk(empty, "find hello")
    kinds = [it["event"] for it in events]
    order = ["note", "entered", "recent", "asked", "text", "call", "saved", "ended", "result"]
    assert [kinds.index(it) for it in order] == sorted(kinds.index(it) for it in order)
    asked, [first, last] = of_kind(events, "asked")[0], of_kind(events, "ended")
    assert asked["text"] == "find hello"
    assert (last["state"], last["usage"]) == ("complete", None)
    told = "".join(it["text"] for it in of_kind(events, "text") if it["id"] == last["id"])
    assert ("assistant", told) == said(empty)[-1]
    assert first["id"] != last["id"]


def test_a_failure_is_an_event_too(empty: Command) -> None:
    done = empty.run("chat", "--json", input=b"/nope\n/search\n")
    failed = of_kind([json.loads(line) for line in done.stdout.splitlines()], "failed")
    assert [it["error"] for it in failed] == ["usage", "usage"]
    assert (done.returncode, done.stderr) == (1, "")


def test_a_message_that_is_too_large_is_told_and_the_chat_goes_on(empty: Command) -> None:
    done = empty.run("chat", input=b"x" * (9 << 20) + b"\nhello\n")
    assert done.returncode == 1
    assert len(said(empty)) == 2


def test_what_a_message_holds_is_never_carried_out(empty: Command) -> None:
    evil = b"\x1b]0;owned\x07 \x1b[2J \xe2\x80\xae reversed"
    done = empty.run("chat", input=evil + b"\n/tree\n/branch\n/search reversed\n/undo\n")
    assert "\x1b" not in done.stdout + done.stderr
    assert "\u202e" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    "args",
    [
        ["--base-url", "http://localhost"],
        ["--api-key-env", "X"],
        ["--provider", "anthropic"],
        ["--models", "not-there.toml"],
        ["--model", "small"],
        ["--model", "small", "--base-url", "http://localhost", "--api-key-env", "NOT_THERE"],
        ["a\nb"],
        ["--timeout", "0"],
    ],
)
def test_arguments_that_make_no_sense_are_told_before_anything_is_made(
    empty: Command, args: list[str]
) -> None:
    code, told = empty.fails("chat", *args)
    assert code == 2
    assert told.startswith("sapwood: ")
    assert list(empty.folder.iterdir()) == []


def test_without_its_sdk_the_chat_names_the_extra(empty: Command, endpoint: Endpoint) -> None:
    (empty.folder / "openai.py").write_text("raise ModuleNotFoundError('no', name='openai')")
    empty.env["PYTHONPATH"] = f"{empty.folder}:{empty.env.get('PYTHONPATH', '')}"
    done = empty.run_process("chat", *with_model(endpoint))
    assert (done.returncode, "sapwood[openai]" in done.stderr) == (9, True)


def test_a_reader_that_has_seen_enough_is_no_failure(empty: Command) -> None:
    line = "(yes hello | head -200) | sapwood chat | head -1; echo ${PIPESTATUS[1]}"
    done = empty.shell(f"set +o pipefail; {line}")
    assert done.stdout.splitlines()[-1] in ("141", "0")
    assert "Traceback" not in done.stderr
    state = empty.json("show", chat_of(empty))["messages"][-1]
    assert state["role"] == "user" or state["extra"]["turn"]["state"] in ("interrupted", "complete")


def test_every_command_is_documented() -> None:
    page = (DOCS / "cli.md").read_text()
    section = page.partition("\n## chat\n")[2].partition("\n## ")[0]
    for name, command in COMMANDS.items():
        assert f"| `/{name} {command.wants}".rstrip() + "` |" in section


def test_an_interrupt_while_a_pipe_is_read_ends_the_chat(empty: Command) -> None:
    talking = Talk(empty)
    talking.until("recent")
    talking.process.send_signal(signal.SIGINT)
    assert talking.rest() == []
    assert talking.end() == 130


def test_a_store_that_is_damaged_ends_the_chat(sap: Command, folder: Path) -> None:
    first = of_kind(talk(sap, "one", "two", "three", args=["mine"]), "asked")[0]["id"]
    with closing(apsw.Connection(str(folder / "agent.db"))) as raw:
        raw.execute("UPDATE message SET body = x'7b' WHERE id = ?", [first])
    code, told = sap.fails("chat", "mine", input=b"four\nfive\n")
    assert (code, told.count("sapwood: ")) == (6, 1)
