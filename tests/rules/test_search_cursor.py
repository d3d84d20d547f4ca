"""A cursor of a search leads on in that search, and in no other."""

from __future__ import annotations

import msgspec
import pytest

from sapwood.errors import UsageError
from sapwood.model import Search
from sapwood.rules.search_cursor import cursor_at, is_place_of, place_in, place_is_gone

SEARCH = Search(text="a \ud800", session="s", limit=3)
PLACE = (7, "é", None)


def on(cursor: str, search: Search = SEARCH) -> Search:
    return msgspec.structs.replace(search, cursor=cursor)


def test_a_place_comes_back_from_its_cursor() -> None:
    cursor = cursor_at("kind", "ada", SEARCH, PLACE)
    assert cursor.isascii()
    assert "=" not in cursor
    assert place_in("kind", "ada", on(cursor), tuple[int, str, None]) == PLACE
    assert place_in("kind", "ada", SEARCH, tuple) is None
    assert is_place_of("kind", "ada", on(cursor))
    assert not is_place_of("kind", "ada", SEARCH)


def test_every_change_of_a_cursor_is_told() -> None:
    cursor = cursor_at("kind", "ada", SEARCH, PLACE)
    changed = [
        f"{cursor[:at]}{other}{cursor[at + 1 :]}" for at in range(len(cursor)) for other in "xY_"
    ]
    for bad in {*changed, cursor + "x", cursor + "=", cursor[1:], "", "é", "!"} - {cursor}:
        with pytest.raises(UsageError) as raised:
            place_in("kind", "ada", on(bad), tuple)
        assert raised.value.path == "cursor"
        assert not is_place_of("kind", "ada", on(bad))


@pytest.mark.parametrize(
    ("kind", "owner", "fields"),
    [
        ("other", "ada", {}),
        ("kind", "bob", {}),
        ("kind", "ada", {"text": "a"}),
        ("kind", "ada", {"session": None}),
        ("kind", "ada", {"limit": 4}),
    ],
)
def test_a_cursor_of_another_search_is_refused(
    kind: str, owner: str, fields: dict[str, object]
) -> None:
    cursor = cursor_at("kind", "ada", SEARCH, PLACE)
    search = msgspec.structs.replace(on(cursor), **fields)
    with pytest.raises(UsageError):
        place_in(kind, owner, search, tuple)


def test_the_error_for_a_place_that_is_gone_names_the_cursor() -> None:
    error = place_is_gone(on("abc"))
    assert (error.kind, error.id) == ("cursor", "abc")
