"""A stored block's document: writes, undo and versions, against a plain stack."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sapwood.context.block import (
    NOTHING,
    HeldBlock,
    StoredBlock,
    after_undo,
    after_write,
    versions_of,
)

STEPS = st.lists(st.none() | st.text("ab", max_size=3), max_size=20)


def stored(held: HeldBlock, after: StoredBlock) -> HeldBlock:
    return HeldBlock(stored=after, version=held.version + 1, updated_us=held.updated_us + 10)


@given(STEPS)
def test_undo_goes_back_as_a_stack_does(steps: list[str | None]) -> None:
    held = NOTHING
    stack: list[str | None] = [None]
    seen: list[str | None] = []
    for step in steps:
        if step is not None:
            held = stored(held, after_write(held, step, "user", None))
            stack.append(step)
        else:
            back = after_undo(held)
            assert (back is None) == (len(stack) == 1)
            if back is None:
                continue
            held = stored(held, back)
            stack.pop()
        seen.append(stack[-1])
        assert held.stored.content == stack[-1]
    versions = versions_of(held, None)
    assert [it.version for it in versions] == sorted((it.version for it in versions), reverse=True)
    assert [it.at_us for it in versions] == [10 * it.version for it in versions]
    assert all(it.content == (seen[it.version - 1] or "") for it in versions)
    assert {it.content for it in versions} >= {text for text in stack if text is not None}


@given(STEPS)
def test_nothing_that_was_written_is_missing(steps: list[str | None]) -> None:
    held = NOTHING
    texts = set()
    for step in steps:
        after = after_undo(held) if step is None else after_write(held, step, "user", None)
        if step is not None:
            texts.add(step)
        if after is not None:
            held = stored(held, after)
    assert {it.content for it in versions_of(held, None)} >= texts


def test_only_what_is_newest_is_kept() -> None:
    held = NOTHING
    for number in range(100):
        held = stored(held, after_write(held, f"{number}", "user", None))
    assert [it.content for it in held.stored.earlier] == [f"{n}" for n in range(79, 99)]
