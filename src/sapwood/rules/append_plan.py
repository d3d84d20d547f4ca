"""What an append means, given what the session already sees: the rule of idempotence."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from ..errors import AlreadyExistsError, MessageConflictError, StaleTipError
from ..model import ROOT, OnKnown, Root
from .codec import Packed
from .data import is_same_data


class KnownMessage(NamedTuple):
    """A message that the session sees: its digest (None when deleted) and its parent's id.

    And its own data, as it is now.
    """

    digest: bytes | None
    parent: str | Root
    data: bytes | None = None


class AppendPlan(NamedTuple):
    """What to do: the first `known` of the batch are stored already, the rest goes after `parent`.

    A `parent` of None means the tip. The batch is as it was given, but for known messages that are
    to be skipped, which come first.
    """

    known: int
    parent: str | Root | None
    batch: Sequence[Packed]


def plan_append(
    batch: Sequence[Packed],
    seen: Mapping[str, KnownMessage],
    tip: str | Root,
    parent: str | Root | None,
    expected_tip: str | Root | None,
    on_known: OnKnown = "return",
    marked: Collection[str | Root] = (),
) -> AppendPlan:
    """Decide what of a batch is new and where it goes; raise where it contradicts what is stored.

    Stored messages are looked at before the expected tip is, so that a retry succeeds. `marked` are
    the places that only marks follow, up to the tip.
    """
    _refuse_repeated_ids(batch)
    if on_known == "raise":
        _refuse_known(batch, seen)
    if on_known == "skip":
        return _plan_around(batch, seen, tip, parent, expected_tip, marked)
    known = _known_prefix(batch, seen)
    _refuse_other_content(batch[:known], seen)
    if parent is not None:
        _refuse_other_parent(batch[:known], seen, parent)
    if known == len(batch):
        return AppendPlan(known, None, batch)
    last_known = batch[known - 1].id if known else None
    if expected_tip is not None:
        refuse_stale_tip(tip, expected_tip if last_known is None else last_known, marked)
    if parent is not None:
        return AppendPlan(known, parent if last_known is None else last_known, batch)
    return AppendPlan(known, None, batch)


def _refuse_known(batch: Sequence[Packed], seen: Mapping[str, KnownMessage]) -> None:
    for message in batch:
        # One that was made for this call is known because an earlier try of it landed.
        if message.id in seen and not message.is_ours:
            raise AlreadyExistsError(
                f"message {message.id!r} is stored already: append only what is new"
            )


def _plan_around(
    batch: Sequence[Packed],
    seen: Mapping[str, KnownMessage],
    tip: str | Root,
    parent: str | Root | None,
    expected_tip: str | Root | None,
    marked: Collection[str | Root],
) -> AppendPlan:
    """Plan for what is new alone; of what is known only the content has to be the same."""
    known = [it for it in batch if it.id in seen]
    new = [it for it in batch if it.id not in seen]
    _refuse_other_content(known, seen)
    if new and expected_tip is not None:
        refuse_stale_tip(tip, expected_tip, marked)
    return AppendPlan(len(known), parent if new else None, [*known, *new])


def _refuse_repeated_ids(batch: Sequence[Packed]) -> None:
    if len(batch) > 1 and len({message.id for message in batch}) < len(batch):
        ids = [message.id for message in batch]
        twice = next(id for id in ids if ids.count(id) > 1)
        raise MessageConflictError(f"the message id {twice!r} is given twice in one call")


def _known_prefix(batch: Sequence[Packed], seen: Mapping[str, KnownMessage]) -> int:
    known = 0
    while known < len(batch) and batch[known].id in seen:
        known += 1
    for message in batch[known:]:
        if message.id in seen:
            raise MessageConflictError(
                f"message {message.id!r} is stored already, but the one before it in the batch "
                "is not: append only what is new"
            )
    return known


def _refuse_other_content(batch: Sequence[Packed], seen: Mapping[str, KnownMessage]) -> None:
    for message in batch:
        digest = seen[message.id].digest
        if digest is None:
            raise MessageConflictError(
                f"message {message.id!r} was deleted, and its id stays taken: use a new id"
            )
        if digest != message.digest:
            raise MessageConflictError(
                f"message {message.id!r} is stored with other content: "
                "use a new id, or update the message"
            )
        # A digest that was given speaks for the data, too: that may be sealed in another way.
        is_told = message.given_digest is not None
        if not is_told and not is_same_data(seen[message.id].data, message.data):
            raise MessageConflictError(
                f"message {message.id!r} is stored with other data: use a new id, or a mark"
            )


def _refuse_other_parent(
    batch: Sequence[Packed], seen: Mapping[str, KnownMessage], parent: str | Root
) -> None:
    for message in batch:
        stored = seen[message.id].parent
        if stored != parent:
            raise MessageConflictError(
                f"message {message.id!r} is stored after {_name(stored)}, not after {_name(parent)}"
            )
        parent = message.id


def refuse_stale_tip(
    tip: str | Root, expected: str | Root, marked: Collection[str | Root] = ()
) -> None:
    """Refuse a write that was decided on another tip; only marks may follow it."""
    if tip != expected and expected not in marked:
        raise StaleTipError(
            f"the tip is {_name(tip)}, not {_name(expected)}: read the session again, then decide"
        )


def _name(id: str | Root) -> str:
    return "the root" if id is ROOT else f"message {id!r}"
