"""A store that passes calls on has the contract's methods, also for those who look at the class."""

from __future__ import annotations

import inspect

import pytest

from sapwood.store import AsyncStore, Store
from sapwood.stores.searched import AsyncSearchedStore, SearchedStore


@pytest.mark.parametrize(
    ("contract", "kind"), [(Store, SearchedStore), (AsyncStore, AsyncSearchedStore)]
)
def test_a_passed_call_has_the_contracts_signature_and_text(contract: type, kind: type) -> None:
    names = [name for name in contract.__abstractmethods__ if callable(getattr(contract, name))]  # type: ignore[attr-defined]
    assert len(names) > 20
    for name in names:
        here, there = getattr(kind, name), getattr(contract, name)
        assert (
            inspect.signature(here).parameters.keys() == inspect.signature(there).parameters.keys()
        )
        assert inspect.getdoc(here)
        assert inspect.iscoroutinefunction(here) == inspect.iscoroutinefunction(there)
