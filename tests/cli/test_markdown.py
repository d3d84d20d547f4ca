"""Sessions as Markdown."""

from __future__ import annotations

from pathlib import Path

import sapwood

from .command import Command


def test_what_was_said_is_written_for_people(sap: Command, folder: Path) -> None:
    out = sap("export", "support", "--format", "markdown")
    assert out.startswith("# The lost parcel\n\n`support` · 5 messages · begun 20")
    heads = [line.split(" · ")[0] for line in out.splitlines() if line.startswith("## ")]
    assert heads == ["## user", "## assistant", "## user", "## assistant"]
    # The path to the tip, without the branch beside it.
    assert "\nOn Monday.\n" in out
    assert "Tomorrow." not in out
    assert "Where is my order?" in out
    assert (
        sap("export", "support", "--format", "markdown", "-o", "x.md") == "1 session, 4 messages\n"
    )
    assert (folder / "x.md").read_text() == out
    assert sap.fails("export", "support", "--format", "markdown", "-o", "x.md")[0] == 4


def test_all_sessions_are_written_the_oldest_first(sap: Command) -> None:
    out = sap("export", "--format", "markdown")
    assert out.index("# The lost parcel") < out.index("\n\n# second\n")
    assert "from support \\#3" in out


def test_every_part_is_readable_and_none_leaks_into_another(sap: Command, folder: Path) -> None:
    with sapwood.open(f"sqlite:///{folder}/agent.db") as sessions:
        chat = sessions.session("parts", title="a *b*\n# c")
        chat.append("user", "```python\nleft open", name="bob")
        call = sapwood.ToolCallPart(call_id="c", name="look_up", input={"a": "```"})
        chat.append("assistant", [sapwood.ReasoningPart(text="one\ntwo"), call])
        chat.append("tool", [sapwood.ToolResultPart(call_id="c", output="found\nit")])
        file = sapwood.FilePart(media_type="image/png", data=b"x", name="a.png")
        chat.append("user", [file])
    out = sap("export", "parts", "--format", "markdown")
    assert out.startswith("# a \\*b\\* \\# c\n")
    assert "## user (bob) · " in out
    assert "\n```python\nleft open\n```\n" in out
    assert "\n> one\n> two\n" in out
    assert '→ look\\_up\n\n````json\n{\n  "a": "```"\n}\n````\n' in out
    assert "← result\n\n```\nfound\nit\n```\n" in out
    assert "[file a.png: image/png, 1 byte]" in out


def test_a_long_session_is_written_page_by_page(sap: Command, folder: Path) -> None:
    with sapwood.open(f"sqlite:///{folder}/agent.db", durability="normal") as sessions:
        sessions.session("long").append_all([("user", f"number {n}.") for n in range(450)])
    out = sap("export", "long", "--format", "markdown")
    assert [line for line in out.splitlines() if line.startswith("number")] == [
        f"number {n}." for n in range(450)
    ]
