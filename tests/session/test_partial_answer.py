"""When an answer that comes in pieces is to be stored, and what there is of it."""

from __future__ import annotations

import pytest

from sapwood.errors import UsageError
from sapwood.model import ReasoningPart, TextPart, ToolCallPart
from sapwood.session.partial_answer import LEAST_SIZE, SHARE, PartialAnswer


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def save(answer: PartialAnswer) -> None:
    answer._saved(answer._unsaved)


def test_pieces_of_a_kind_become_a_part() -> None:
    answer = PartialAnswer(1.0, Clock())
    call = ToolCallPart(call_id="c", name="look", input={})
    for piece in ("I ", "think"):
        answer.add_reasoning(piece)
    for piece in ("so", ".", ""):
        answer.add_text(piece)
    answer.add_part(call)
    answer.add_text("And")
    thought, said = ReasoningPart(text="I think"), TextPart(text="so.")
    assert answer.parts == [thought, said, call, TextPart(text="And")]
    answer.add_text(" on")
    assert answer.parts == [thought, said, call, TextPart(text="And on")]
    assert PartialAnswer(1.0, Clock()).parts == []


def test_the_first_piece_waits_for_its_time_from_when_it_came() -> None:
    clock = Clock()
    answer = PartialAnswer(1.0, clock)
    clock.now += 60
    assert not answer.add_text("a")
    clock.now += 0.9
    assert not answer.add_text("b")
    clock.now += 0.1
    assert answer.add_text("c")


def test_after_a_save_it_is_time_again_when_as_much_has_passed() -> None:
    clock = Clock()
    answer = PartialAnswer(1.0, clock)
    answer.add_text("a")
    clock.now += 5
    assert answer.add_text("b")
    save(answer)
    assert answer.is_saved
    assert not answer.add_text("c")
    assert not answer.is_saved
    clock.now += 1
    assert answer.add_text("d")


def test_much_is_saved_without_waiting_and_the_more_there_is_the_rarer() -> None:
    answer = PartialAnswer(1.0, Clock())
    saves, written = 0, 0
    for n in range(2000):
        if answer.add_text("x" * 1024):
            save(answer)
            saves, written = saves + 1, written + 1024 * (n + 1)
    size = 2000 * 1024
    assert 10 < saves < size / LEAST_SIZE / 2
    assert written < 2 * SHARE * size


def test_what_comes_while_it_is_written_is_not_saved_yet() -> None:
    answer = PartialAnswer(1.0, Clock())
    answer.add_text("abc")
    begun = answer._unsaved
    answer.add_text("d")
    answer._saved(begun)
    assert not answer.is_saved


@pytest.mark.parametrize("piece", [None, b"x", 1])
def test_what_is_no_piece_is_refused(piece: object) -> None:
    answer = PartialAnswer(1.0, Clock())
    with pytest.raises(UsageError):
        answer.add_text(piece)  # type: ignore[arg-type]
    with pytest.raises(UsageError):
        answer.add_part(piece)  # type: ignore[arg-type]
