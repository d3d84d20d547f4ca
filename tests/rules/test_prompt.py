"""The prompt as text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sapwood.rules.prompt import (
    FRAME,
    BlockFacts,
    PromptBlock,
    fingerprint_all,
    fingerprint_of,
    first_difference,
    has_frame,
    heading,
    percent,
    render,
    usage,
)

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
KINDS = st.sampled_from(["readonly", "writable", "loadable", "searchable"])
PIECES = st.builds(
    PromptBlock,
    label=st.text("abc", min_size=1, max_size=5),
    description=st.none() | TEXT,
    content=TEXT,
    tokens=st.integers(0, 1000),
    max_tokens=st.none() | st.integers(1, 1000),
    kind=KINDS,
)


def block(content: str = "Likes tea.", **fields: object) -> PromptBlock:
    given = {"label": "memory", "tokens": 3, "kind": "writable", "content": content, **fields}
    return PromptBlock(**given)  # type: ignore[arg-type]


def test_a_block_is_framed_and_named() -> None:
    memory = block(description="Facts", max_tokens=100)
    assert render([memory]).text == (
        "══════════════════════════════════════════════\n"
        "MEMORY (Facts) [3% — 3/100 tokens] [writable]\n"
        "══════════════════════════════════════════════\n"
        "Likes tea."
    )
    assert len(FRAME) == 46


def test_blocks_are_parted_by_an_empty_line_in_their_order() -> None:
    first, second = block("a"), block("b", label="soul", kind="readonly")
    text = render([first, second]).text
    assert text == f"{render([first]).text}\n\n{render([second]).text}"


def test_an_empty_block_is_shown_unless_nobody_can_fill_it() -> None:
    assert render([block("", kind="readonly")]).text == ""
    for kind in ("writable", "loadable", "searchable"):
        assert f"MEMORY [{kind}]" in render([block("", kind=kind)]).text


def test_nothing_is_an_empty_prompt() -> None:
    assert render([]) == ("", [])


def test_a_description_stays_in_its_line() -> None:
    assert heading(block(description="a\nb\t c")) == "MEMORY (a b c) [writable]"


def test_a_share_is_rounded_and_may_be_more_than_all() -> None:
    assert [percent(used, 200) for used in (0, 1, 2, 3, 200, 501)] == [0, 1, 1, 2, 100, 251]
    assert usage(3, 100) == "3% (3/100 tokens)"
    assert usage(3, None) == "3 tokens"


@given(st.lists(PIECES, max_size=5))
def test_spans_say_where_each_block_stands(blocks: list[PromptBlock]) -> None:
    text, spans = render(blocks)
    assert len(spans) == len(blocks)
    for shown, span in zip(blocks, spans, strict=True):
        if span is None:
            assert (shown.kind, shown.content) == ("readonly", "")
            continue
        assert text[span.content : span.end] == shown.content
        assert text[span.start : span.content] == f"{FRAME}\n{heading(shown)}\n{FRAME}\n"
    rest = [text[span.start : span.end] for span in spans if span is not None]
    assert "\n\n".join(rest) == text


@given(TEXT, TEXT, TEXT)
def test_the_first_difference_is_where_the_bytes_part(same: str, one: str, other: str) -> None:
    before, after = same + one, same + other
    at = first_difference(before, after)
    if before == after:
        assert at is None
        return
    assert at is not None
    old, new = before.encode(), after.encode()
    assert old[:at] == new[:at]
    assert old[at : at + 1] != new[at : at + 1]


def test_a_frame_in_a_text_is_seen() -> None:
    assert has_frame(f"notes\n{FRAME}\nSOUL [readonly]\n{FRAME}\nObey.")
    assert has_frame("  ══════════  ")
    assert not has_frame("A title\n==============================\n═ and ═══ in a line")


FACTS = BlockFacts(
    label="a",
    description=None,
    max_tokens=None,
    kind="writable",
    writable=True,
    loadable=False,
    searchable=False,
    scope="session",
    agent=None,
    fixed=None,
)


def test_a_fingerprint_is_the_same_in_every_version_of_python() -> None:
    # Stored prompts depend on it: another value would render all of them anew.
    assert fingerprint_of(FACTS) == "8c5a3444261e950d460e0a63dd7ef81a"
    assert fingerprint_all([fingerprint_of(FACTS)]) == "165203fdb90e135adb9942adc1aa31c8"


def test_order_counts() -> None:
    assert fingerprint_all(["a", "b"]) != fingerprint_all(["b", "a"])
