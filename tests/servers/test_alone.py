"""Tests of several processes take turns on a server where one would disturb another."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator

import pytest

from . import postgres, running
from .alone import be_alone_on, let_others, lock_of

URL = "postgresql://nobody:s3cret@nowhere/test_alone"


@pytest.fixture(autouse=True)
def nothing_stays() -> Iterator[None]:
    yield
    let_others()
    lock_of(URL).unlink(missing_ok=True)


def is_free(url: str) -> bool:
    with lock_of(url).open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def test_a_server_is_one_process_own_until_it_lets_others() -> None:
    for _ in range(2):
        assert is_free(URL)
        be_alone_on(URL)
        be_alone_on(URL)
        assert not is_free(URL)
        assert is_free(f"{URL}_2")
        let_others()
    lock_of(f"{URL}_2").unlink()


def test_the_name_of_the_lock_tells_no_secret() -> None:
    assert "s3cret" not in str(lock_of(URL))


@pytest.mark.parametrize("given", [URL, None])
def test_a_test_has_a_postgres_that_is_shared_to_itself(
    given: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "given", lambda variable, name: given)
    postgres.alone()
    assert is_free(URL) is (given is None)
