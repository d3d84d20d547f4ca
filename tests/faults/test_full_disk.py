"""A full disk: told as such, nothing half written, and all is well when there is room again."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sapwood.errors import StoreUnavailableError
from sapwood.stores.sqlite import SqliteStore

from .support import ADA, assert_sound, ids_in, make_session, open_store, run_in_threads, say

ROOM = 12 << 20
WRITERS = 6


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of twelve megabytes."""
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={ROOM}", "tmpfs", str(place)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"a small file system cannot be mounted here: {error}")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def append_until_full(append: Callable[[int], object]) -> list[int]:
    """Append until there is no room; give what was acknowledged."""
    told: list[int] = []

    def append_on() -> None:
        while True:
            append(len(told))
            told.append(len(told))

    with pytest.raises(StoreUnavailableError, match="the disk is full") as caught:
        append_on()
    assert caught.value.retryable
    return told


@pytest.mark.fault
def test_a_full_disk_is_told_and_got_over(small_disk: Path) -> None:
    filler = small_disk / "filler"
    filler.write_bytes(bytes(ROOM // 2))
    with open_store(small_disk / "s.db") as store:
        make_session(store, "s")
        told = append_until_full(lambda n: append_pair(store, n))
        expected = [f"{n}.{k}" for n in told for k in range(2)]
        assert ids_in(store, "s") == expected
        filler.unlink()
        append_pair(store, len(told))
        assert ids_in(store, "s") == [*expected, f"{len(told)}.0", f"{len(told)}.1"]
        store.finish_deletions()
    assert_sound(small_disk / "s.db")


def append_pair(store: SqliteStore, n: int) -> None:
    store.append(ADA, "s", [say(f"{n}.{k}", "x" * 20_000) for k in range(2)])


@pytest.mark.fault
def test_every_writer_is_told_of_a_full_disk(small_disk: Path) -> None:
    filler = small_disk / "filler"
    filler.write_bytes(bytes(ROOM // 2))
    told: dict[int, list[int]] = {}
    with open_store(small_disk / "s.db") as store:
        for writer in range(WRITERS):
            make_session(store, f"s{writer}")

        def write(writer: int) -> None:
            def append(n: int) -> object:
                return store.append(ADA, f"s{writer}", [say(f"m{n}", "x" * 20_000)])

            told[writer] = append_until_full(append)

        run_in_threads(*(lambda writer=writer: write(writer) for writer in range(WRITERS)))
        for writer in range(WRITERS):
            assert ids_in(store, f"s{writer}") == [f"m{n}" for n in told[writer]]
        filler.unlink()
        for writer in range(WRITERS):
            store.append(ADA, f"s{writer}", [say("after")])
    assert_sound(small_disk / "s.db")


@pytest.mark.fault
def test_a_file_is_not_made_on_a_full_disk(small_disk: Path) -> None:
    filler = small_disk / "filler"
    filler.write_bytes(bytes(ROOM - 8192))
    with pytest.raises(StoreUnavailableError):
        open_store(small_disk / "s.db")
    filler.unlink()
    with open_store(small_disk / "s.db") as store:
        make_session(store, "s")
    assert_sound(small_disk / "s.db")
