"""Is a call right, whatever is stored? Each check raises a `UsageError` that says where not."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from msgspec import UNSET

from ..errors import MessageTooLargeError, UsageError
from ..model import (
    Edge,
    EdgeKind,
    EntryRef,
    ForkPoint,
    NewMessage,
    NewOverlay,
    NewSession,
    Position,
    Read,
    Root,
    Search,
    SessionPatch,
    SessionQuery,
    SystemFields,
    SystemPatch,
    Usage,
)
from .codec import encode_json, refuse_json
from .ids import check_key, check_name, check_time
from .system import MOST_PARTS
from .tokens import MAX_TOKENS
from .wording import a_kind, with_article

MAX_PAGE = 10_000
MAX_HITS = 1_000
ORDERS = ("active", "created", "updated")
MAX_WHOLE = 2**62  # one more still fits the integers of every store
MAX_COST_MICROS = 2**50
name = check_name
key = check_key


def owner(value: str) -> None:
    """Check an owner's name."""
    name(value, "owner")


def owner_and_session(owner: str, session: str) -> None:
    """Check the two names that nearly every call begins with."""
    name(owner, "owner")
    name(session, "session")


def given(check: Callable[[Any, str], None], value: Any, what: str) -> None:
    """Check what may be left out, when it was not."""
    if value is not None:
        check(value, what)


def place(value: str | Root, what: str) -> None:
    """Check a message's id or `ROOT`."""
    if not isinstance(value, Root):
        name(value, what)


def position(value: Position, what: str) -> None:
    """Check a position."""
    instance(value, Position, what)
    name(value.segment, f"{what}.segment")
    count(value.depth, f"{what}.depth", 1)


def message_ids(ids: Sequence[str]) -> None:
    """Check a list of message ids; a string alone is a mistake that is easily made."""
    _names(ids, "ids")


def listed(values: Any, what: str) -> None:
    """Check that several values are given, and not one."""
    if isinstance(values, str | bytes) or not isinstance(values, Sequence):
        raise UsageError(f"{what} is {a_kind(values)}: give a list", path=what)


def _names(values: Sequence[str], what: str) -> None:
    listed(values, what)
    for index, value in enumerate(values):
        name(value, f"{what}[{index}]")


def has_id(message: NewMessage) -> None:
    """Check that a message to update says which one."""
    instance(message, NewMessage, "message")
    if message.id is None:
        raise UsageError("a message to update needs its id", path="message id")
    if message.created_us is not None:
        raise UsageError("an update keeps the time: leave created_us out", path="created_us")
    if message.digest is not None:
        raise UsageError("an update keeps the first digest: leave it out", path="digest")


def whole(value: int | None, what: str, least: int, most: int = MAX_WHOLE) -> None:
    """Check an optional whole number against its bounds."""
    if value is not None:
        count(value, what, least, most)


def count(value: int, what: str, least: int, most: int = MAX_WHOLE) -> None:
    """Check a whole number against its bounds."""
    if type(value) is not int or not least <= value <= most:
        raise UsageError(
            f"{what} must be a whole number from {least} to {most}, not {value!r}", path=what
        )


def seconds(value: float, what: str) -> None:
    """Check how long something may take: more than 0 seconds, and not for ever."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 < value < math.inf:
        raise UsageError(f"{what} must be a number of seconds above 0, not {value!r}", path=what)


def instance(value: Any, kind: type, what: str) -> None:
    """Check a record's type, so that a wrong one is named and not stumbled over."""
    if not isinstance(value, kind):
        raise UsageError(
            f"{what} must be {with_article(kind.__name__)}, not {a_kind(value)}", path=what
        )


def function(value: Any, what: str) -> None:
    """Check that something can be called."""
    if not callable(value):
        raise UsageError(f"{what} must be a function, not {a_kind(value)}", path=what)


def new_session(new: NewSession) -> None:
    """Check a session to create."""
    instance(new, NewSession, "session")
    name(new.id, "session")
    _record_fields(new)
    if new.kind is not UNSET:
        name(new.kind, "kind")
    instance(new.system, SystemFields, "system")
    _system_fields(new.system)
    given(check_time, new.created_us, "created_us")
    if new.parent is not None:
        instance(new.parent, Edge, "parent")
        instance(new.parent.kind, EdgeKind, "parent.kind")
        name(new.parent.session, "parent.session")
    if new.fork is not None:
        instance(new.fork, ForkPoint, "fork")
        name(new.fork.session, "fork.session")
        given(place, new.fork.message, "fork.message")


def patch(value: SessionPatch) -> None:
    """Check a change of a session's record."""
    instance(value, SessionPatch, "patch")
    _record_fields(value)
    if value.closed is not UNSET:
        instance(value.closed, bool, "closed")
    if value.system is not UNSET:
        instance(value.system, SystemPatch, "system")
        _system_fields(value.system)
    if value.active_us is not UNSET:
        check_time(value.active_us, "active_us")
    if value.attributes is not UNSET and value.merge is not UNSET:
        raise UsageError("give attributes, which replaces all of them, or merge", path="merge")


def _record_fields(value: NewSession | SessionPatch) -> None:
    if value.title is not UNSET:
        given(text, value.title, "title")
    if value.state is not UNSET:
        name(value.state, "state")
    if value.tags is not UNSET:
        _names(value.tags, "tags")
    for field in ("attributes", "merge"):
        given_fields = getattr(value, field, UNSET)
        if given_fields is not UNSET:
            instance(given_fields, dict, field)
            encode_json(given_fields, field)
    if value.budget is not UNSET:
        whole(value.budget, "budget", 0, MAX_TOKENS)
    for field in ("model", "source", "end_reason"):
        if getattr(value, field) is not UNSET:
            given(name, getattr(value, field), field)


def _system_fields(value: SystemFields | SystemPatch) -> None:
    if value.key is not UNSET:
        system_key(value.key, "system.key")
    if value.life is not UNSET:
        count(value.life, "system.life", 0)
    for field in ("next", "reason"):
        if getattr(value, field) is not UNSET:
            given(name, getattr(value, field), f"system.{field}")


def system_key(key: tuple[str, ...], what: str) -> None:
    """Check the parts of a key, which may be any text."""
    instance(key, tuple, what)
    if len(key) > MOST_PARTS:
        raise UsageError(f"{what} has {len(key)} parts: {MOST_PARTS} at most", path=what)
    for index, part in enumerate(key):
        text(part, f"{what}[{index}]")


def text(value: str, what: str) -> None:
    """Check that something is valid Unicode text."""
    instance(value, str, what)
    refuse_json(value, what)


def session_query(query: SessionQuery) -> None:
    """Check what to list."""
    instance(query, SessionQuery, "query")
    count(query.limit, "limit", 1, MAX_PAGE)
    _names(query.tags, "tags")
    given(name, query.kind, "kind")
    given(name, query.state, "state")
    system_key(query.key, "key")
    given(name, query.parent, "parent")
    given(text, query.title_prefix, "title_prefix")
    given(text, query.cursor, "cursor")
    if query.order not in ORDERS:
        raise UsageError(
            f"order must be 'active', 'created' or 'updated', not {query.order!r}", path="order"
        )
    instance(query.reverse, bool, "reverse")
    for field in ("created_from", "created_until", "active_from", "active_until"):
        given(_aware, getattr(query, field), field)


def owners_query(query: SessionQuery) -> None:
    """Check what to list of all owners."""
    session_query(query)
    for field in ("tags", "key", "title_prefix", "parent"):
        if getattr(query, field) not in (None, [], ()):
            raise UsageError(f"{field} is of one owner's sessions: list those", path=field)
    if query.order != "active":
        raise UsageError("sessions of all owners are listed by activity only", path="order")


def _aware(moment: datetime, what: str) -> None:
    instance(moment, datetime, what)
    if moment.utcoffset() is None:
        raise UsageError(f"{what} has no time zone: use an aware datetime", path=what)


def read(query: Read) -> None:
    """Check what to read."""
    instance(query, Read, "query")
    given(place, query.leaf, "leaf")
    whole(query.limit, "limit", 1)
    whole(query.max_bytes, "max_bytes", 1)
    count(query.after, "after", 0)
    whole(query.before, "before", 0)
    instance(query.bodies, bool, "bodies")


def message_page(after: Position | None, limit: int) -> None:
    """Check how a session's messages are listed."""
    given(position, after, "after")
    count(limit, "limit", 1, MAX_PAGE)


def new_overlay(new: NewOverlay, max_bytes: int) -> None:
    """Check an overlay to add."""
    instance(new, NewOverlay, "overlay")
    for what, ref in (("first", new.first), ("last", new.last)):
        instance(ref, EntryRef, what)
        name(ref.id, what)
        if ref.kind not in ("message", "overlay"):
            raise UsageError(
                f"{what} must be a 'message' or an 'overlay', not {ref.kind!r}", path=what
            )
    text(new.summary, "summary")
    if not new.summary.strip():
        raise UsageError("the summary is empty: an overlay would hide messages", path="summary")
    if len(new.summary.encode()) > max_bytes:
        raise MessageTooLargeError(f"the summary has more than {max_bytes} bytes", path="summary")
    instance(new.metadata, dict, "metadata")
    encode_json(new.metadata, "metadata")
    whole(new.tokens, "tokens", 0, MAX_TOKENS)
    given(text, new.snapshot, "snapshot")
    given(name, new.leaf, "leaf")
    given(name, new.id, "id")


def usage(value: Usage) -> None:
    """Check a usage record."""
    instance(value, Usage, "usage")
    name(value.id, "usage.id")
    if value.model != "":
        name(value.model, "usage.model")
    given(name, value.message, "usage.message")
    for field in ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens"):
        count(getattr(value, field), f"usage.{field}", 0, MAX_TOKENS)
    count(value.cost_micros, "usage.cost_micros", 0, MAX_COST_MICROS)


def usage_by(value: str) -> None:
    """Check what usage is summed by."""
    if value not in ("model", "message"):
        raise UsageError(f"by must be 'model' or 'message', not {value!r}", path="by")


def on_known(value: str) -> None:
    """Check what is done about messages that are stored already."""
    if value not in ("return", "raise", "skip"):
        raise UsageError(
            f"on_known must be 'return', 'raise' or 'skip', not {value!r}", path="on_known"
        )


def search(value: Search) -> None:
    """Check where to search and how much to give; the query is checked where it is read."""
    instance(value, Search, "search")
    given(name, value.session, "session")
    given(name, value.kind, "kind")
    count(value.limit, "limit", 1, MAX_HITS)
    given(text, value.cursor, "cursor")


def feed(after: str, limit: int, reader: str | None) -> None:
    """Check how the change feed is read."""
    text(after, "after")
    count(limit, "limit", 1, MAX_PAGE)
    given(name, reader, "reader")


def version(value: int | None) -> None:
    """Check an expected version."""
    whole(value, "expected_version", 0)
