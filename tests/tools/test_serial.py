"""The search for a serial order finds one where there is one, and only there."""

from __future__ import annotations

from sapwood.errors import NotFoundError
from sapwood.testing.serial import Call, Stored, Told, explain

F = Stored("m1", (("message", "m0"), ("message", "m1")), frozenset({"m1"}), 0)


def _append(session: str, id: str) -> Call:
    return Call("append", session, id)


def _s(*ids: str) -> Stored:
    shown = tuple(("message", id) for id in ("m0", "m1", "m2", *ids))
    return Stored([*shown][-1][1], shown, frozenset({shown[-1][1]}), len(shown))


def test_an_order_is_found_and_keeps_each_writers_own() -> None:
    told = [
        [Told(_append("s", "a0"), (1, "a0")), Told(_append("s", "a1"), (1, "a1"))],
        [Told(_append("s", "b0"), (1, "b0"))],
    ]
    order = explain(told, {"s": _s("a0", "b0", "a1"), "f": F})
    assert order is not None
    assert [call.value for call in order] == ["a0", "b0", "a1"]
    assert explain(told, {"s": _s("a1", "b0", "a0"), "f": F}) is None


def test_a_lost_message_is_not_explained() -> None:
    told = [[Told(_append("s", "a0"), (1, "a0"))]]
    assert explain(told, {"s": _s(), "f": F}) is None
    assert explain(told, {"s": _s("a0", "a0"), "f": F}) is None


def test_an_error_is_explained_by_what_came_before_it_and_by_nothing_else() -> None:
    refused = [Told(_append("f", "a0"), NotFoundError)]
    erased = [Told(Call("erase", "f", "x"), None)]
    assert explain([refused, erased], {"s": _s()}) is not None
    assert explain([refused], {"s": _s(), "f": F}) is None
    assert explain([erased, [Told(_append("f", "a0"), (1, "a0"))]], {"s": _s()}) is not None


def test_two_that_were_told_the_same_version_are_not_explained() -> None:
    told = [[Told(Call("rename", "s", writer), 1)] for writer in ("a", "b")]
    assert explain(told, {"s": _s(), "f": F}) is None
    told[1] = [Told(Call("rename", "s", "b"), 2)]
    assert explain(told, {"s": _s(), "f": F}) is not None
