"""A file that is wrong is refused before anything is written, and the line is named."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import pytest

from sapwood.errors import UnsupportedOperationError, UsageError
from sapwood.model import NewSession
from sapwood.testing.makers import ADA, cover, fork_of, say
from sapwood.transfer import check_alone

from .worlds import export, joined, lines_of, load, memory, names_in

Lines = list[dict[str, Any]]


@pytest.fixture
def lines() -> Lines:
    """Give: header, session s, document, m1, m2, overlay; fork f, document, f2; end."""
    with memory() as store:
        store.create_session(ADA, NewSession(id="s"))
        store.append(ADA, "s", [say("m1"), say("m2")])
        store.put_document(ADA, "k", b"v", session="s")
        store.add_overlay(ADA, "s", cover("m1", "m2", id="o"))
        store.create_session(ADA, fork_of("s", "m1", id="f"))
        store.append(ADA, "f", [say("f2")])
        return lines_of(export(store))


def changed(number: int, **fields: Any) -> Callable[[Lines], Lines]:
    def change(lines: Lines) -> Lines:
        lines[number - 1] |= fields
        return lines

    return change


def without(number: int) -> Callable[[Lines], Lines]:
    return lambda lines: lines[: number - 1] + lines[number:]


def swapped(one: int, other: int) -> Callable[[Lines], Lines]:
    def change(lines: Lines) -> Lines:
        lines[one - 1], lines[other - 1] = lines[other - 1], lines[one - 1]
        return lines

    return change


WRONG: dict[str, tuple[Callable[[Lines], Lines], str]] = {
    "no header": (without(1), "line 1|first line"),
    "another format": (changed(1, format="other"), "no export"),
    "a header without a version": (changed(1, version="1"), "no version"),
    "a message before any session": (without(2), "line 3 belongs|line 2|no session"),
    "an unknown kind": (changed(4, kind="letter"), "line 4"),
    "an unknown field": (changed(4, colour="red"), "line 4"),
    "a missing field": (lambda it: [*it[:3], {"kind": "message", "id": "x"}, *it[4:]], "line 4"),
    "a part that is none": (changed(4, parts=[{"type": "nope"}]), "line 4"),
    "a bad id": (changed(4, id="a\nb"), "line 4"),
    "a bad role": (changed(4, role=""), "line 4"),
    "a time that is none": (changed(4, created_us=-1), "line 4"),
    "tokens below zero": (changed(4, tokens=-1), "line 4"),
    "an id twice": (changed(5, id="m1", parent="m1"), "line 5.*already"),
    "a parent that is nowhere": (changed(5, parent="nobody"), "line 5.*before it"),
    "children before parents": (swapped(4, 5), "line 4.*before it"),
    "an overlay over nothing": (changed(6, last="nobody"), "line 6"),
    "a document without a name": (changed(3, key=""), "line 3"),
    "a session twice": (changed(7, id="s", fork=None), "line 7.*second"),
    "a fork of a later session": (changed(7, fork={"session": "z", "message": "m1"}), "line 7"),
    "a fork of no message": (changed(7, fork={"session": "s", "message": "z"}), "line 7.*'z'"),
    "a tip that is nowhere": (changed(2, tip="nobody"), "line 2.*tip 'nobody'"),
    "a fork's tip that is nowhere": (changed(7, tip="m2"), "line 7.*tip 'm2'"),
    "a fork's message after one it does not see": (changed(9, parent="m2"), "line 9.*'m2'"),
    "a fork's message with an inherited id": (changed(9, id="m1"), "line 9.*inherits"),
    "a fork's overlay over what it does not see": (
        lambda it: [*it[:9], {**it[5], "id": "p"}, it[9]],
        "line 10 covers 'm2'",
    ),
    "an overlay twice": (lambda it: [*it[:6], it[5], *it[6:]], "line 7 is a second overlay"),
    "a state that is none": (changed(2, state=""), "line 2"),
    "no end": (lambda it: it[:-1], "cut off"),
    "half of it": (lambda it: it[:4], "cut off"),
    "a line too few": (without(5), "missing|before it|covers"),
    "wrong counts": (lambda it: [*it[:-1], {**it[-1], "messages": 9}], "missing"),
    "something after the end": (lambda it: [*it, it[2]], "after the end"),
}


@pytest.mark.parametrize("name", WRONG)
def test_it_is_refused(name: str, lines: Lines) -> None:
    change, told = WRONG[name]
    with memory() as store:
        with pytest.raises(UsageError, match=told):
            load(store, joined(change(lines)))
        assert names_in(store) == []


@pytest.mark.parametrize(
    "data", [b"", b"\n", b"\xff\xfe", b"[]\n", b'{"a": 1}\n', b"SQLite format 3"]
)
def test_what_is_no_export_at_all_is_refused(data: bytes) -> None:
    with memory() as store, pytest.raises(UsageError, match="no export"):
        load(store, data)


@pytest.mark.parametrize("cut", [2, 20, 60, 200, 500])
def test_a_file_cut_anywhere_is_refused(cut: int, lines: Lines) -> None:
    data = joined(lines)
    with memory() as store:
        with pytest.raises(UsageError):
            load(store, data[:-cut])
        assert names_in(store) == []


@pytest.mark.parametrize("name", WRONG)
def test_it_is_told_without_a_store(name: str, lines: Lines) -> None:
    change, told = WRONG[name]
    with pytest.raises(UsageError, match=told):
        check_alone(io.BytesIO(joined(change(lines))))


def test_a_fork_may_stand_on_messages_that_only_the_store_has(lines: Lines) -> None:
    with memory() as store:
        load(store, joined(lines))
        store.append(ADA, "s", [say("m3")], parent="m2")
        lines[6] |= {"id": "g", "fork": {"session": "s", "message": "m3"}}
        lines[8] |= {"parent": "m3"}
        load(store, joined(lines))
        [message] = store.find_messages(ADA, "g", ["m3"])
        assert message is not None


def test_a_line_that_is_not_json_is_named(lines: Lines) -> None:
    raw = joined(lines).splitlines(keepends=True)
    raw[3] = b"{not json}\n"
    with memory() as store, pytest.raises(UsageError, match="line 4") as caught:
        load(store, b"".join(raw))
    assert caught.value.path == "line 4"


def test_a_newer_version_of_the_format_is_told_apart(lines: Lines) -> None:
    lines[0] |= {"version": 2, "new": True}
    with memory() as store, pytest.raises(UnsupportedOperationError, match="upgrade"):
        load(store, joined(lines))


def test_nesting_beyond_all_bounds_is_refused(lines: Lines) -> None:
    raw = joined(lines).splitlines(keepends=True)
    deep = b'{"a":' * 50_000 + b"1" + b"}" * 50_000
    raw[3] = (
        json.dumps(lines[3]).encode().replace(b'"metadata": {}', b'"metadata": ' + deep) + b"\n"
    )
    with memory() as store, pytest.raises(UsageError, match="line 4"):
        load(store, b"".join(raw))


def test_empty_lines_do_no_harm(lines: Lines) -> None:
    with memory() as store:
        load(store, joined(lines).replace(b"\n", b"\r\n\n"))
        assert names_in(store) == ["f", "s"]
