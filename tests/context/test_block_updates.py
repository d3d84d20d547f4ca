"""What the model is told of changed blocks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sapwood.context.prompt_document import SMALL_BLOCK_TOKENS, BlockUpdate, describe_updates

LINES = st.lists(st.text("ab ", max_size=5), max_size=8).map("\n".join)


def changed(before: str | None, now: str | None) -> BlockUpdate:
    return BlockUpdate(label="memory", before=before, now=now, heading="MEMORY")


def told(before: str | None, now: str | None) -> str:
    return describe_updates([changed(before, now)], len).partition("\n\n")[2]


def test_nothing_changed_is_nothing_told() -> None:
    assert describe_updates([], len) == ""


def test_a_small_block_is_told_as_a_whole() -> None:
    assert told("a", "b") == "MEMORY\nb"
    assert told("a", "") == "MEMORY\nThis block is empty now."
    assert told("a", None) == "MEMORY is no longer there."


BIG = "\n".join(f"line {number}" for number in range(200))


def test_of_a_large_block_the_changed_lines_are_told() -> None:
    assert told(BIG, f"{BIG}\nnew") == (
        "MEMORY\n(1 line after line 200; the others are as they were.)\nnew"
    )
    assert told(BIG, f"new\n{BIG}").endswith(
        "(1 line at its beginning; the others are as they were.)\nnew"
    )
    assert told(BIG, BIG.replace("line 7\n", "")).endswith("(Removed after line 7: 1 line.)")
    assert told(BIG, BIG.replace("line 7\n", "x\ny\n")).endswith(
        "(2 lines after line 7 in place of 1; the others are as they were.)\nx\ny"
    )


def test_too_much_is_cut_and_says_so() -> None:
    text = told(None, BIG)
    assert text.startswith("MEMORY\nline 0\n")
    assert text.endswith("more characters]")
    assert len(text) < SMALL_BLOCK_TOKENS + 50
    assert len(told("other", BIG)) < SMALL_BLOCK_TOKENS + 150


@given(LINES, LINES, LINES, LINES)
def test_the_lines_told_are_enough_to_know_the_new_text(
    head: str, old: str, new: str, tail: str
) -> None:
    filler = "\n".join(f"filler {number}" for number in range(100))
    before = f"{filler}\n{head}\n{old}\n{tail}\n{filler}"
    now = f"{filler}\n{head}\n{new}\n{tail}\n{filler}"
    if before == now:
        return
    text = told(before, now)
    where, _, shown = text.removeprefix("MEMORY\n").partition("\n")
    start = int(where.split("line ")[-1].split()[0].rstrip(":;"))
    lines = now.split("\n")
    assert lines[:start] == before.split("\n")[:start]
    if not where.startswith("(Removed"):
        count = int(where[1:].split()[0])
        assert "\n".join(lines[start : start + count]) == shown
