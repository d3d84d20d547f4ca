"""What a listing makes of the ends of paths: how deep two go together, and a preview's words."""

from __future__ import annotations

from itertools import islice

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.model import (
    Document,
    FilePart,
    Message,
    Part,
    Position,
    ReadMark,
    Recent,
    TextPart,
    ToolCallPart,
)
from sapwood.rules.recent import (
    common_depth,
    elsewhere,
    mark_at,
    preview_of,
    read_key,
    unread_after,
)
from sapwood.rules.tree import LINEAGE_CAP, Place, spans_up

from .growth import Tree, a_place, staircase, trees

relaxed = settings(deadline=None, max_examples=max(150, settings().max_examples))


def public(place: Place) -> Position:
    return Position(str(place.segment), place.depth)


def end_of(tree: Tree, leaf: Place, most: int = LINEAGE_CAP + 1) -> Recent:
    spans = list(islice(spans_up(leaf, tree.lineage_of), most + 1))
    trail = [public(Place(it.segment, it.last)) for it in spans[:most]]
    return Recent(tip="tip", trail=trail, is_whole=len(spans) <= most)


def shared(tree: Tree, one: Place, other: Place) -> int:
    """The oracle: how many positions the walks to two places have in common."""
    return len(set(tree.walk_up(one)) & set(tree.walk_up(other)))


@relaxed
@given(trees(), st.data(), st.sampled_from([1, 2, 3, LINEAGE_CAP + 1]))
def test_how_deep_two_paths_go_together_is_never_told_wrong(
    tree: Tree, data: st.DataObject, most: int
) -> None:
    tip, read, then = (data.draw(a_place(tree)) for _ in range(3))
    mark = mark_at(end_of(tree, then, most), "m", public(read))
    told = common_depth(end_of(tree, tip, most), mark)
    assert told in (None, shared(tree, tip, read))


@relaxed
@given(trees(max_stairs=LINEAGE_CAP - 10), st.data())
def test_it_is_told_when_the_trails_are_whole(tree: Tree, data: st.DataObject) -> None:
    tip, then = (data.draw(a_place(tree)) for _ in range(2))
    read = data.draw(st.sampled_from(tree.walk_up(then)))
    recent, mark = end_of(tree, tip, 1_000), mark_at(end_of(tree, then, 1_000), "m", public(read))
    assert mark.is_whole
    assert common_depth(recent, mark) == shared(tree, tip, read)


def test_trails_that_do_not_meet_are_not_guessed() -> None:
    tree, tip = staircase(200)
    far = tree.walk_up(tip)[150]
    assert common_depth(end_of(tree, tip), ReadMark(message="m", depth=50)) is None
    assert common_depth(end_of(tree, tip), mark_at(end_of(tree, tip), "m", public(far))) is None


def test_places_without_a_message_are_not_unread() -> None:
    recent = Recent(tip="m9", trail=[Position("1", 9)], empty=[4, 6, 9])
    assert [unread_after(recent, depth) for depth in (0, 4, 5, 9)] == [6, 3, 2, 0]
    assert unread_after(Recent(tip="m9"), 0) == 0


def message(id: str, *parts: Part, role: str = "assistant") -> Message:
    figures = {"tokens": 1, "version": 1, "created_us": 0}
    place = {"segment": "1", "depth": 1, "home": "s"}
    return Message(id=id, role=role, parts=[*parts], metadata={}, **figures, **place)


@pytest.mark.parametrize(
    ("parts", "shown"),
    [
        ([TextPart(text="one"), TextPart(text="two\n\u2028three")], "one two three"),
        ([TextPart(text=" " * 10_000 + "far")], "far"),
        ([TextPart(text="x" * 9_000_000)], "x" * 119 + "…"),
        ([TextPart(text="word " * 40)], "word " * 23 + "word…"),
        ([FilePart(media_type="image/png"), FilePart(media_type="a/b", name="n")], "image/png, n"),
        ([TextPart(text="text"), FilePart(media_type="image/png")], "text"),
        ([ToolCallPart(call_id="c", name="n", input={})], ""),
        ([], ""),
    ],
)
def test_a_preview_is_one_line_of_text_or_of_files(parts: list[Part], shown: str) -> None:
    preview = preview_of([message("m", *parts)])
    assert preview is not None
    assert preview.text == shown


def test_the_nearest_message_with_something_to_show_is_taken() -> None:
    call = ToolCallPart(call_id="c", name="n", input={})
    said = [message("a", TextPart(text="a")), message("b", TextPart(text="b")), message("c", call)]
    found = [preview_of(said[:count]) for count in range(4)]
    assert [it and it.id for it in found] == [None, "a", "b", "b"]
    last = preview_of(said[2:])
    assert last is not None
    assert (last.id, last.text) == ("c", "")


def test_a_mark_leaves_its_trail_behind_when_it_goes_to_another_store() -> None:
    whole = ReadMark(message="m", depth=2, trail=[Position("7", 2)], is_whole=True)
    kept = Document(
        key=read_key("ada"),
        value=msgspec.json.encode(whole),
        version=1,
        updated_us=0,
        created_us=0,
        expires_us=None,
    )
    assert msgspec.json.decode(elsewhere(kept).value) == {"message": "m", "depth": 2}
    for other in (
        msgspec.structs.replace(kept, key="other"),
        msgspec.structs.replace(kept, value=b"my own"),
    ):
        assert elsewhere(other) == other
