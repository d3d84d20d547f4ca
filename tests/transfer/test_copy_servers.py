"""From a file over a server to a file: equal at both ends, and again after the source went on."""

from __future__ import annotations

from pathlib import Path

import pytest
from servers.urls import SERVERS, emptied

import sapwood
from sapwood.testing.makers import ADA
from sapwood.transfer import copy_store

from .copies import all_of, furnished
from .test_copy_again import go_on
from .test_round_trip import lasting
from .test_shown import delete_what_forks_cover
from .worlds import export, shown_everywhere, sqlite


@pytest.mark.parametrize("name", SERVERS)
def test_from_sqlite_over_a_server_to_sqlite_nothing_is_lost(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = emptied(name, request)
    with (
        sqlite(tmp_path / "a.db") as a,
        sapwood.open(url, owner=ADA) as between,
        sqlite(tmp_path / "b.db") as b,
    ):
        with furnished() as first:
            copy_store(first, a)
        for turn in range(2):
            copy_store(a, between.store)
            copy_store(between.store, b)
            assert lasting(export(a)) == lasting(export(between.store)) == lasting(export(b))
            assert all_of(a) == all_of(between.store) == all_of(b)
            assert copy_store(a, between.store).equal == copy_store(a, b).equal == 2 + turn
            if turn == 0:
                go_on(a)
        between.store.finish_deletions()
        assert between.store.admin.check() == b.admin.check() == []


@pytest.mark.parametrize("name", SERVERS)
def test_over_a_server_every_leaf_shows_what_it_showed(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = emptied(name, request)
    with (
        sqlite(tmp_path / "a.db") as a,
        sapwood.open(url, owner=ADA) as between,
        sqlite(tmp_path / "b.db") as b,
    ):
        delete_what_forks_cover(a)
        copy_store(a, between.store)
        copy_store(between.store, b)
        assert shown_everywhere(a) == shown_everywhere(between.store) == shown_everywhere(b)
        assert copy_store(a, between.store).equal == copy_store(between.store, b).equal == 4
        assert between.store.admin.check() == b.admin.check() == []
