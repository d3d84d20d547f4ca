"""A session that is used with different blocks says so: each use undoes the other's prompt."""

from __future__ import annotations

import pytest

from .conftest import Make
from .source import MEMORY, SOUL


async def test_opens_with_different_blocks_are_told(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    for opened in range(7):
        context = make(SOUL, MEMORY) if opened % 2 else make(SOUL)
        await context.freeze()
        # Twice is a new version of the program; from then on they take turns.
        assert len(caplog.records) == max(0, opened - 1)
        await context.freeze()
    report = await context.cache_report()
    assert [change.reason for change in report.changes] == ["configuration"] * 6 + ["first"]
    assert [change.alternates for change in report.changes] == [True] * 5 + [False] * 2
    assert report.alternates


async def test_a_running_one_is_warned_once(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    running, other = make(SOUL, MEMORY), make(SOUL)
    await running.freeze()
    for _ in range(3):
        await other.freeze()
        await running.refresh()
    [first, second] = caplog.records
    assert "'chat'" in first.getMessage()
    assert "same blocks" in first.getMessage()
    assert first.getMessage() == second.getMessage()


async def test_its_own_changes_are_no_alternation(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    context = make(SOUL)
    await context.freeze()
    for _ in range(2):
        await context.add(MEMORY)
        await context.freeze()
        await context.remove("memory")
        await context.freeze()
    assert caplog.records == []
    assert not (await context.cache_report()).alternates


async def test_a_new_version_of_the_program_is_no_alternation(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    for blocks in ([SOUL], [SOUL, MEMORY], [SOUL, MEMORY], [MEMORY]):
        for _ in range(2):
            await make(*blocks).freeze()
            await make(*blocks).refresh()
    assert caplog.records == []
    assert not (await make(MEMORY).cache_report()).alternates
