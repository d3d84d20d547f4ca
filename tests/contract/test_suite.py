"""The suite itself: every test of it is run, and the machines grow with the profile."""

from __future__ import annotations

import os
import runpy
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest
import tier

from sapwood.errors import StoreCorruptError
from sapwood.rules.ids import IdMaker
from sapwood.store import Store
from sapwood.stores.memory import MemoryStore
from sapwood.testing import (
    AsyncDurableStoreContract,
    DurableStoreContract,
    ManualClock,
    SharedContract,
)
from sapwood.testing._sync.data import UndeclaredDataContract

STORES = sorted(it.stem for it in Path(__file__).parent.glob("test_*.py"))


@pytest.mark.parametrize("suite", [DurableStoreContract, AsyncDurableStoreContract])
def test_no_test_hides_another_of_the_same_name(suite: type) -> None:
    names = Counter(name for part in suite.__mro__ for name in vars(part) if name[:5] == "test_")
    assert [name for name, count in names.items() if count > 1] == []


def machines_of(module: str) -> dict[str, tuple[int, int]]:
    """Give how many examples and steps each machine of a module has."""
    path = Path(__file__).with_name(f"{module}.py")
    found = runpy.run_path(str(path), run_name=f"{__package__}.again")
    cases = {name: it for name, it in found.items() if hasattr(it, "settings")}
    return {
        name: (it.settings.max_examples, it.settings.stateful_step_count)
        for name, it in cases.items()
    }


@pytest.mark.parametrize("module", [name for name in STORES if name != Path(__file__).stem])
def test_each_machine_has_some_examples_and_more_of_them_when_asked(
    module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tier, "FULL", False)
    usual = machines_of(module)
    monkeypatch.setattr(tier, "FULL", True)
    full = machines_of(module)
    assert len(usual) >= 2
    for name, (examples, steps) in usual.items():
        assert examples >= 3
        assert steps >= 20
        assert full[name] >= (examples + 1, 2 * steps)


def test_the_parts_that_tiers_name_are_parts_of_the_suite() -> None:
    parts = {it.__name__ for it in (*DurableStoreContract.__mro__, *SharedContract.__mro__)}
    assert {*tier.BAD_INPUT, *tier.STORAGE} <= parts


class Dataless(MemoryStore):
    """A store that does not declare DATA."""

    capabilities = frozenset()


class TestDatalessStore(UndeclaredDataContract):
    @pytest.fixture
    def store(self, clock: ManualClock) -> Iterator[Store]:
        with Dataless(clock=clock, new_id=IdMaker(clock, os.urandom)) as store:
            yield store


class Refusing(MemoryStore):
    """A store that takes everything for damaged."""

    def read(self, *args: object) -> NoReturn:
        raise StoreCorruptError("all is lost")


@pytest.mark.parametrize(
    ("kind", "told"), [(MemoryStore, "DID NOT RAISE"), (Refusing, "reading elsewhere")]
)
def test_a_store_that_loses_nothing_or_shows_nothing_does_not_pass_for_one_that_tells(
    kind: type[MemoryStore], told: str
) -> None:
    clock = ManualClock()
    suite = DurableStoreContract()
    with (
        kind(clock=clock, new_id=IdMaker(clock, bytes)) as store,
        pytest.raises((AssertionError, pytest.fail.Exception), match=told),
    ):
        suite.test_rule_08_what_a_read_shows_beside_a_missing_one_is_right(
            store, lambda owner, session, id: None
        )
