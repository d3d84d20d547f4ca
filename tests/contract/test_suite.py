"""The suite itself: every test of it is run, and the machines grow with the profile."""

from __future__ import annotations

import runpy
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import settings

from sapwood.testing import AsyncDurableStoreContract, DurableStoreContract

STORES = sorted(it.stem for it in Path(__file__).parent.glob("test_*.py"))
LEAST = (5, 20)


@pytest.mark.parametrize("suite", [DurableStoreContract, AsyncDurableStoreContract])
def test_no_test_hides_another_of_the_same_name(suite: type) -> None:
    names = Counter(name for part in suite.__mro__ for name in vars(part) if name[:5] == "test_")
    assert [name for name, count in names.items() if count > 1] == []


def machines_of(module: str, profile: str) -> dict[str, tuple[int, int]]:
    """Give how many examples and steps each machine of a module has with a profile."""
    before = settings.get_current_profile_name()
    settings.load_profile(profile)
    try:
        path = Path(__file__).with_name(f"{module}.py")
        found = runpy.run_path(str(path), run_name=f"{__package__}.again")
        cases = {name: it for name, it in found.items() if hasattr(it, "settings")}
        return {
            name: (it.settings.max_examples, it.settings.stateful_step_count)
            for name, it in cases.items()
        }
    finally:
        settings.load_profile(before)


@pytest.mark.parametrize("module", [name for name in STORES if name != Path(__file__).stem])
def test_each_machine_has_some_examples_and_more_of_them_when_asked(module: str) -> None:
    usual, thorough = machines_of(module, "default"), machines_of(module, "thorough")
    assert len(usual) >= 2
    for name, found in usual.items():
        assert found >= LEAST
        assert found[1] >= LEAST[1]
        assert thorough[name] >= (12 * found[0], found[1] + 1)
        assert thorough[name][1] > found[1]
