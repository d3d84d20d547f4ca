"""Whether some serial order of calls explains what their callers were told, and what is stored."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from random import Random
from typing import Any, Literal, NamedTuple

from ..model import ForkPoint, NewSession, SessionPatch
from .makers import cover, say
from .oracle import Node, Oracle, Refused

Kind = Literal["append", "checkout", "clear", "cover", "delete", "erase", "fork", "rename"]

_APPENDS: list[Kind] = ["append"] * 5
_KINDS: list[Kind] = [
    *_APPENDS,
    "checkout",
    "clear",
    "cover",
    "delete",
    "erase",
    "fork",
    "rename",
]

SESSIONS = ("s", "f")
MESSAGES = ("m0", "m1", "m2")


class Call(NamedTuple):
    """One call on a session; `value` is a message, a title, or the name of what is made."""

    kind: Kind
    session: str
    value: str
    parent: str | None = None
    expected_tip: str | None = None


class Told(NamedTuple):
    """A call, and what its caller was told: the gist of an answer, or the kind of an error."""

    call: Call
    answer: Any


class Stored(NamedTuple):
    """What is to be seen of a session."""

    tip: str | None
    shown: tuple[tuple[str, str], ...]
    leaves: frozenset[str]
    messages: int


def begun() -> Oracle:
    """Return an oracle with what every run begins with: a conversation and a fork of it."""
    oracle = Oracle()
    oracle.create(NewSession(id="s"), 0)
    for id in MESSAGES:
        oracle.append("s", [say(id, tokens=1)])
    oracle.create(NewSession(id="f", fork=ForkPoint(session="s", message="m1")), 0)
    return oracle


def draw_calls(dice: Random, writer: int, count: int) -> list[Call]:
    """Draw what a writer does; appends are what it mostly does."""
    return [_draw(dice, f"w{writer}-{n}") for n in range(count)]


def _draw(dice: Random, name: str) -> Call:
    kind = dice.choice(_KINDS)
    session, message = dice.choice(SESSIONS), dice.choice(MESSAGES)
    if kind == "append":
        how = dice.choice(["blind", "blind", "parent", "tip"])
        parent = message if how == "parent" else None
        return Call("append", session, name, parent, message if how == "tip" else None)
    return Call(kind, session, message if kind in ("checkout", "delete") else name)


def explain(told: Sequence[Sequence[Told]], stored: dict[str, Stored]) -> list[Call] | None:
    """Return an order of all calls, each writer's kept, after which all is as told; or None."""
    return _go_on(begun(), [list(own) for own in told], stored, [])


def _go_on(
    oracle: Oracle, left: list[list[Told]], stored: dict[str, Stored], done: list[Call]
) -> list[Call] | None:
    if not any(left):
        return done if _seen(oracle) == stored else None
    for writer, own in enumerate(left):
        if not own:
            continue
        after = deepcopy(oracle)
        if not _fits(after, own[0]):
            continue
        rest = [calls[1:] if n == writer else calls for n, calls in enumerate(left)]
        found = _go_on(after, rest, stored, [*done, own[0].call])
        if found is not None:
            return found
    return None


def _fits(oracle: Oracle, told: Told) -> bool:
    try:
        return bool(_ask(oracle, told.call) == told.answer)
    except Refused as refused:
        return told.answer in refused.kinds


def _ask(oracle: Oracle, call: Call) -> Any:
    session = call.session
    match call.kind:
        case "append":
            batch = [say(call.value, tokens=1)]
            _, written = oracle.append(
                session, batch, parent=call.parent, expected_tip=call.expected_tip
            )
            return written, call.value
        case "checkout":
            oracle.checkout(session, call.value)
            return call.value
        case "clear":
            return oracle.clear(session).version
        case "cover":
            return oracle.add_overlay(session, cover("m0", "m1", id=call.value)).covered_tokens
        case "delete":
            return oracle.delete_messages(session, [call.value])[0]
        case "erase":
            return oracle.delete(session)
        case "fork":
            point = ForkPoint(session=session)
            return _id(oracle.create(NewSession(id=call.value, fork=point), 0).tip)
        case "rename":
            return oracle.update(session, SessionPatch(title=call.value)).version


def _seen(oracle: Oracle) -> dict[str, Stored]:
    return {
        session.id: Stored(
            _id(session.tip),
            tuple(entry.name for entry in session.shown(session.tip)),
            frozenset(node.id for node in session.leaves()),
            session.count(),
        )
        for session in oracle.sessions.values()
    }


def _id(node: Node | None) -> str | None:
    return None if node is None else node.id
