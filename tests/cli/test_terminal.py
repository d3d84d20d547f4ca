"""In a terminal: colours, widths, questions; and nothing in a message that it obeys."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rich.cells import cell_len

import sapwood
from sapwood.cli.output import wrap
from sapwood.model import Usage

from .command import Command

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
VIEWS = [
    ["ls"],
    ["show", "support"],
    ["show", "wide"],
    ["show", "wide", "--ids"],
    ["show", "wide", "--history"],
    ["show", "support", "--history"],
    ["search", "漢字"],
    ["search", "order"],
    ["tail"],
    ["usage", "wide"],
    ["usage", "wide", "--by", "message"],
    ["context", "wide"],
    ["context", "wide", "記憶"],
    ["context", "wide", "記憶", "--versions"],
    ["context", "wide", "--report"],
]


@pytest.fixture
def wide(sap: Command, folder: Path) -> Command:
    """Add a session of long lines in characters of two cells, under a long name."""
    with sapwood.open(f"sqlite:///{folder}/agent.db") as sessions:
        chat = sessions.session("wide", title="題名" * 40)
        for n in range(6):
            chat.append("user", "漢字かな 交じり文 👩‍👩‍👧 " * 30, id=f"w{n}")
        chat.append("assistant", "x", parent="w2")
        chat.add_overlay("w0", "w1", "要約" * 100)
        chat.pin("w1")
        chat.with_context("記憶", description="説明" * 50).with_context("y" * 100)
        chat.replace_context_block("記憶", "漢字かな 交じり文 " * 30)
        chat.replace_context_block("y" * 100, "x" * 300)
        chat.refresh_system_prompt()
        for n, model in enumerate(("模型" * 30, "m" * 100)):
            chat.add_usage(
                Usage(id=f"{n}", model=model, message=f"w{n}", input_tokens=10**9, cost_micros=n)
            )
        sessions.session("n" * 120).append("user", "a name that is too long")
    return sap


@pytest.mark.parametrize("columns", [40, 80, 200])
@pytest.mark.parametrize("view", VIEWS, ids=" ".join)
def test_lines_fit(wide: Command, view: list[str], columns: int) -> None:
    code, seen = wide.in_terminal(*view, columns=columns)
    assert code == 0
    lines = [COLOUR.sub("", line) for line in seen.splitlines()]
    assert lines
    answers = [line for line in lines if not line.startswith(("cursor", "there is more"))]
    assert max(map(cell_len, answers)) <= columns


@pytest.mark.parametrize("columns", [40, 50, 80])
def test_the_tip_and_pins_are_marked_however_narrow_it_is(
    sap: Command, folder: Path, columns: int
) -> None:
    with sapwood.open(f"sqlite:///{folder}/agent.db") as sessions:
        chat = sessions.session("named")
        chat.append("user", "What was said before. " * 5, id="0190-first-0000-0000-0000")
        chat.append("assistant", "What was said at last. " * 5, id="0190-last-0000-0000-0000")
        chat.fork("a-fork-with-a-long-name")
        chat.pin("0190-last-0000-0000-0000")
    for ids in ("--ids", "--no-ids"):
        seen = COLOUR.sub("", sap.in_terminal("show", "named", ids, columns=columns)[1])
        assert "◀ tip, pinned" in seen.splitlines()[-1]


@pytest.mark.parametrize("width", [2, 5, 9, 20])
@pytest.mark.parametrize(
    "text",
    ["", "a", "two words and a third", "x" * 50, "    indented code", "漢字 かな " * 9, "a  b"],
)
def test_wrapping_loses_no_word_and_fits(text: str, width: int) -> None:
    lines = list(wrap(text, width))
    assert max(map(cell_len, lines)) <= width
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert list(wrap(text, None)) == [text]


@pytest.mark.parametrize("view", VIEWS, ids=" ".join)
def test_there_are_colours_in_a_terminal_and_none_in_a_pipe(wide: Command, view: list[str]) -> None:
    assert COLOUR.search(wide.in_terminal(*view)[1])
    assert "\x1b" not in wide(*view)


def test_no_color_is_heeded(sap: Command) -> None:
    sap.env["NO_COLOR"] = "1"
    assert "\x1b" not in sap.in_terminal("show", "support")[1]
    del sap.env["NO_COLOR"]
    sap.env["TERM"] = "dumb"
    assert "\x1b" not in sap.in_terminal("show", "support")[1]


def test_a_match_is_marked_in_a_terminal(sap: Command) -> None:
    seen = sap.in_terminal("search", "arrive")[1]
    assert re.search(r"\x1b\[31m\x1b\[1marrive\x1b\[0m", seen)


EVIL = "\x1b]0;owned\x07\x1b[2J\x1b[31m\x9b31m\x08\x7f\rover\u202eesrever\u2066"
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.mark.parametrize("is_terminal", [True, False])
@pytest.mark.parametrize(
    "view",
    [
        ["ls"],
        ["show", "evil"],
        ["show", "evil", "--history"],
        ["show", "evil", "--json"],
        ["search", "reverse"],
        ["search", "reverse", "--json"],
        ["tail"],
        ["tail", "--json"],
        ["export", "evil"],
        ["usage", "evil"],
        ["context", "evil"],
        ["context", "evil", "memory"],
        ["context", "evil", "memory", "--json"],
        ["context", "evil", "--prompt"],
        ["context", "evil", "--report"],
    ],
    ids=" ".join,
)
def test_nothing_in_a_message_reaches_the_terminal_raw(
    sap: Command, folder: Path, view: list[str], is_terminal: bool
) -> None:
    with sapwood.open(f"sqlite:///{folder}/agent.db") as sessions:
        chat = sessions.session("evil", title=EVIL)
        chat.append("user", f"reverse {EVIL}", id="m1")
        chat.append("assistant", [{"type": "tool_call", "call_id": "c", "name": EVIL, "input": {}}])
        chat.append("user", [sapwood.OtherPart(value={"type": "image", "x": EVIL})])
        chat.append("user", "end")
        chat.add_overlay("m1", "m1", f"reverse {EVIL}")
        chat.add_usage(Usage(id="u", model="reverse \u202e\u2066", input_tokens=1))
        chat.with_context("memory", description=f"reverse {EVIL}")
        chat.replace_context_block("memory", f"reverse {EVIL}")
        chat.refresh_system_prompt()
    if is_terminal:
        seen = COLOUR.sub("", sap.in_terminal(*view, columns=200)[1]).replace("\r", "")
    elif view[0] == "export":
        return
    else:
        seen = sap(*view)
    assert not OBEYED.search(seen)
    assert "reverse" in seen or view == ["ls"] or view[0] == "tail" or "--report" in view


def test_rm_asks_in_a_terminal(sap: Command) -> None:
    code, seen = sap.in_terminal("rm", "support", answer=b"n\n")
    assert (code, "Delete 1 session" in seen) == (130, True)
    assert len(sap.json("ls")["sessions"]) == 2
    code, seen = sap.in_terminal("rm", "support", answer=b"y\n")
    assert (code, "deleted support" in seen) == (0, True)
    code, seen = sap.in_terminal("rm", "second", "--yes")
    assert code == 0
    assert sap.json("ls")["sessions"] == []


def test_a_bar_is_shown_while_work_is_long_and_is_gone_after_it(sap: Command, folder: Path) -> None:
    with sapwood.open(f"sqlite:///{folder}/agent.db", durability="normal") as sessions:
        sessions.session("long").append_all([("user", "text " * 50)] * 3000)
    for args in (["export", "-o", "x.jsonl"], ["backup", "copy.db"]):
        code, seen = sap.in_terminal(*args)
        assert code == 0
        assert args[0] in seen
    sap.env["SAPWOOD_STORE"] = "sqlite:///other.db"
    code, seen = sap.in_terminal("import", "x.jsonl")
    assert code == 0
    assert "bytes" in seen
    assert "import" not in sap.run("import", "x.jsonl").stderr


def test_a_terminal_that_cannot_say_the_lines_gets_plainer_ones(sap: Command) -> None:
    out = sap.run_process("show", "support", PYTHONIOENCODING="ascii", PYTHONUTF8="0").stdout
    assert out.isascii()
    assert "|-*" in out
    assert "< tip" in out
    for args in ([], ["--history"]):
        out = sap.run_process(
            "show", "support", *args, PYTHONIOENCODING="ascii", PYTHONUTF8="0"
        ).stdout
        assert "messages - " in out
        assert not any(escape in out for escape in ("\\x", "\\u")), out
