"""Rule 10: a tool call and its result are never parted by a limit."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sapwood import Message, Overlay, Summary, TextPart, ToolCallPart, ToolResultPart
from sapwood.model import Entry, Part, Position
from sapwood.rules.pairs import drop_parted, drop_unanswered_end, pair_of

CALL_IDS = st.sampled_from(["1", "2", "3"])
PARTS = st.one_of(
    st.builds(TextPart, text=st.just("text")),
    st.builds(ToolCallPart, call_id=CALL_IDS, name=st.just("look"), input=st.none()),
    st.builds(ToolResultPart, call_id=CALL_IDS, output=st.none()),
)
PATHS = st.lists(st.lists(PARTS, min_size=1, max_size=3), max_size=12)


def message(number: int, parts: list[Part]) -> Message:
    return Message(
        id=f"m{number}",
        role="any",
        parts=parts,
        metadata={},
        segment="1",
        depth=number + 1,
        home="s",
        tokens=1,
        version=1,
        created_us=0,
    )


def call(id: str) -> ToolCallPart:
    return ToolCallPart(call_id=id, name="look", input=None)


def result(id: str) -> ToolResultPart:
    return ToolResultPart(call_id=id, output=None)


@given(PATHS, st.integers(0, 12))
def test_no_result_is_shown_without_its_call(path: list[list[Part]], cut: int) -> None:
    window = [message(n, parts) for n, parts in enumerate(path)][cut:]
    called: set[str] = set()
    for entry in drop_parted(window):
        assert isinstance(entry, Message)
        for part in entry.parts:
            if isinstance(part, ToolCallPart):
                called.add(part.call_id)
            assert not isinstance(part, ToolResultPart) or part.call_id in called


@given(PATHS, st.integers(0, 12))
def test_all_else_stays_in_order(path: list[list[Part]], cut: int) -> None:
    window = [message(n, parts) for n, parts in enumerate(path)][cut:]
    kept = drop_parted(window)
    assert [e.depth for e in kept] == sorted({e.depth for e in kept})

    def others(entries: object) -> list[Part]:
        return [
            part
            for entry in entries  # type: ignore[attr-defined]
            for part in entry.parts
            if not isinstance(part, ToolResultPart)
        ]

    assert others(kept) == others(window)
    assert drop_parted(kept) == kept


def test_a_reused_call_id_does_not_save_an_earlier_result() -> None:
    window = [message(0, [result("1")]), message(1, [call("1")]), message(2, [result("1")])]
    assert drop_parted(window) == window[1:]


def test_a_message_without_parts_stays() -> None:
    window = [message(0, []), message(1, [result("1")])]
    assert drop_parted(window) == window[:1]


def test_a_pinned_call_keeps_its_result() -> None:
    overlay = Overlay(
        id="o",
        first=Position("1", 1),
        last=Position("1", 1),
        summary="s",
        tokens=1,
        covered_tokens=1,
        metadata={},
        created_by="s",
        created_us=0,
    )
    pinned = Summary(overlay=overlay, pinned=[message(0, [call("1")])])
    answer = message(1, [result("1")])
    window: list[Entry] = [pinned, answer]
    assert drop_parted(window) is window
    stray = message(2, [result("2")])
    assert drop_parted([pinned, answer, stray]) == [pinned, answer]
    bare = Summary(overlay=overlay)
    assert drop_parted([bare, answer]) == [bare]


def test_a_call_at_the_end_is_left_out_until_all_its_results_are_there() -> None:
    text, asked = message(0, [TextPart(text="a")]), message(1, [call("1"), call("2")])
    one, two = message(2, [result("1")]), message(3, [result("2")])
    for cut in ([text, asked], [text, asked, one]):
        assert drop_unanswered_end(cut) == [text]
    for whole in ([], [text], [text, asked, one, two], [one, two], [text, asked, one, text]):
        assert drop_unanswered_end(whole) is whole
    both = message(1, [call("1"), result("1")])
    assert drop_unanswered_end([text, both]) == [text, both]


@given(PATHS)
def test_a_longer_window_never_leaves_fewer_entries(path: list[list[Part]]) -> None:
    messages: list[Entry] = [message(n, parts) for n, parts in enumerate(path)]
    upwards = [len(drop_parted(messages[start:])) for start in range(len(messages), -1, -1)]
    assert upwards == sorted(upwards)


def test_a_pair_is_found_from_either_end() -> None:
    path = [
        message(0, [TextPart(text="a")]),
        message(1, [call("1"), call("2")]),
        message(2, [TextPart(text="b")]),
        message(3, [result("2")]),
        message(4, [result("1")]),
        message(5, [call("1")]),
    ]
    for id in ("m1", "m3", "m4"):
        assert pair_of(path, id) == (["m1", "m3", "m4"], True)
    assert pair_of(path, "m0") == (["m0"], True)
    assert pair_of(path, "m5") == (["m5"], False)
    assert pair_of(path[3:], "m3") == (["m3"], False)
    assert pair_of(path[:4], "m3") == (["m1", "m3"], False)


@given(PATHS)
def test_pairs_are_classes_of_messages(path: list[list[Part]]) -> None:
    messages = [message(n, parts) for n, parts in enumerate(path)]
    pairs = {m.id: pair_of(messages, m.id) for m in messages}
    for id, pair in pairs.items():
        assert id in pair.ids
        assert all(pairs[other] == pair for other in pair.ids)
