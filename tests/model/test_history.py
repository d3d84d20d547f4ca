"""What a history shows, and how its entries are named."""

from __future__ import annotations

from datetime import UTC, datetime

from sapwood.model import ROOT, EntryRef, History, Message, Overlay, Position, Summary


def message(id: str, depth: int, tokens: int = 5) -> Message:
    return Message(
        id=id,
        role="user",
        parts=[],
        metadata={},
        segment="1",
        depth=depth,
        home="s",
        tokens=tokens,
        version=1,
        created_us=0,
    )


OVERLAY = Overlay(
    id="o",
    first=Position("1", 2),
    last=Position("1", 8),
    summary="They met.",
    tokens=3,
    covered_tokens=70,
    metadata={},
    created_by="s",
    created_us=2_000_000,
)
PINS = [message("p1", 3, tokens=10), message("p2", 4, tokens=20)]


def test_a_summary_costs_its_text_and_its_pins() -> None:
    assert Summary(overlay=OVERLAY).tokens == 3
    assert Summary(overlay=OVERLAY, pinned=PINS).tokens == 33


def test_a_summary_stands_at_the_end_of_what_it_covers() -> None:
    summary = Summary(overlay=OVERLAY)
    assert (summary.text, summary.depth) == ("They met.", 8)
    assert OVERLAY.created_at == datetime(1970, 1, 1, 0, 0, 2, tzinfo=UTC)


def test_a_history_s_messages_have_the_pins_after_their_summary() -> None:
    first, last = message("a", 1), message("z", 9)
    history = History(
        entries=[first, Summary(overlay=OVERLAY, pinned=PINS), last],
        leaf="z",
        tip=ROOT,
        context_tokens=43,
        more=False,
        bytes=0,
        snapshot="",
    )
    assert [shown.id for shown in history.messages_only] == ["a", "p1", "p2", "z"]


def test_messages_and_overlays_do_not_share_an_id_space() -> None:
    same_id = Summary(overlay=OVERLAY)
    assert EntryRef.of(same_id) == EntryRef(kind="overlay", id="o")
    assert EntryRef.of(message("o", 1)) == EntryRef(kind="message", id="o")
    assert EntryRef.of("o") == EntryRef.of(message("o", 1)) != EntryRef.of(same_id)
    assert EntryRef.of(EntryRef.of(same_id)) == EntryRef.of(same_id)
