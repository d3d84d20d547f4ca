"""What the bench says of its rows, and of disks."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Give a module of the bench by its name."""
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module


def _finding(bench: Any, *, ratio: float, at_full: bool, commit_us: float) -> Any:
    turns = bench("measure").Turns(ours=[[ratio]] * 5, raw=[[1.0]] * 5)
    row = bench("row").slower("work", turns, 1.5, at_full=at_full)
    return bench("row").Finding(row=row, raw_commit_us=commit_us)


def test_a_bar_at_full_counts_from_a_commit_of_200_microseconds_on(bench: Any) -> None:
    for at_full, commit_us, is_judged in (
        (True, 199.9, False),
        (True, 200.0, True),
        (False, 1.0, True),
    ):
        finding = _finding(bench, ratio=1.6, at_full=at_full, commit_us=commit_us)
        assert (finding.is_judged, finding.is_broken) == (is_judged, is_judged)
        held = _finding(bench, ratio=1.5, at_full=at_full, commit_us=commit_us)
        assert (held.is_judged, held.is_broken) == (is_judged, False)


def test_a_run_ends_with_an_error_when_a_bar_that_counts_does_not_hold(
    bench: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    judge = bench("run")._judge
    broken = _finding(bench, ratio=1.6, at_full=True, commit_us=300)
    passed_over = _finding(bench, ratio=1.6, at_full=True, commit_us=100)
    assert judge([broken, passed_over], 200) == 1
    assert "does not hold: work" in capsys.readouterr().out
    assert judge([passed_over], 100) == 0
    assert "1 bars at synchronous=FULL were not judged" in capsys.readouterr().out


def test_two_sides_that_are_to_be_alike_are_held_both_ways(bench: Any) -> None:
    for ratio in (1.5, 1 / 1.5):
        turns = bench("measure").Turns(ours=[[ratio]], raw=[[1.0]])
        assert bench("row").alike("work", turns, 1.2).holds is False


def test_a_crowd_of_which_one_failed_is_not_verified(bench: Any, tmp_path: Path) -> None:
    crowd = bench("crowd_rows").Crowd(["s"])
    crowd.note(1, 1.0, [1.0])
    with pytest.raises(AssertionError, match="an append failed"):
        crowd.verify(tmp_path / "s.db")


def test_a_disk_is_told_by_its_kind_and_not_by_its_place(bench: Any, tmp_path: Path) -> None:
    kind = bench("disk").kind_of_disk(tmp_path)
    assert kind is None or (kind and "/" not in kind)
