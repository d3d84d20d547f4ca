"""Editing and deleting messages, through their home or when that is gone."""

from __future__ import annotations

from collections.abc import Sequence

from ....errors import ConflictError
from ....model import Deleted, Message
from ....rules.codec import Packed, decode_body, digest
from ..rows import Head, message_of, no_message, split_entry
from .context import AsyncContext
from .link import Command
from .tree import Look, Placed

GONE = "-"
"""What is kept instead of the digest of a deleted message."""


async def update_message(
    context: AsyncContext, owner: str, session: str, message: Packed
) -> Message:
    """Replace a message's content; its place, time and first digest stay."""
    look = await context.directory.look(owner, session, [message.id], with_sessions=True)
    [place] = look.places
    head, body = (None, b"") if place is None else split_entry(place.entry)
    if place is None or head is None or not body:
        raise no_message(session, message.id)
    if place.home != look.row.home:
        raise ConflictError(
            f"message {message.id!r} is inherited: it is edited through the session that wrote it"
        )
    new = head._replace(role=message.role, tokens=message.tokens, version=head.version + 1)
    entry = new.with_body(message.body)
    first = _first_digest(place, head, body)
    commands = _change(context, look, place, head, entry, first)
    at = f"U {place.segment} {place.depth} {look.now} "
    commands.append(("RPUSH", context.key(look.tree, "f"), at))
    if new.tokens != head.tokens:
        commands += context.forget_sums(look)
    await context.apply(owner, look, commands, after_appends=True)
    changed = message_of(entry, str(place.segment), place.depth, place.session)
    assert changed is not None
    return changed


async def delete_messages(
    context: AsyncContext, owner: str, session: str, ids: Sequence[str]
) -> Deleted:
    """Erase messages; their positions and ids stay."""
    look = await context.directory.look(owner, session, ids, with_sessions=True)
    places = _to_erase(look, ids)
    if not places:
        return Deleted(ids=[], quoting_overlays=[])
    commands: list[Command] = []
    for place in places.values():
        head, _ = split_entry(place.entry)
        entry = head._replace(role="", tokens=0).with_body(b"")
        commands += _change(context, look, place, head, entry, GONE)
        at = f"D {place.segment} {place.depth} {look.now} {session}"
        commands.append(("RPUSH", context.key(look.tree, "f"), at))
    own = sum(place.home == look.row.home for place in places.values())
    commands.append(("HINCRBY", context.key(look.tree, f"s:{session}"), "m", -own))
    commands += context.forget_sums(look)
    key = context.keys.tree(look.tree)
    at_all = [n for place in places.values() for n in (place.segment, place.depth)]
    quoting = await context.link.ask("quoting", [key], *at_all)
    await context.apply(owner, look, commands, after_appends=True, only_frees=True)
    return Deleted(ids=list(places), quoting_overlays=[it.decode() for it in quoting])


def _to_erase(look: Look, ids: Sequence[str]) -> dict[str, Placed]:
    places: dict[str, Placed] = {}
    for id, place in zip(ids, look.places, strict=True):
        if place is None:
            raise no_message(look.row.id, id)
        if place.entry.endswith(b"\n"):
            continue
        if place.session is not None and place.home != look.row.home:
            raise ConflictError(
                f"message {id!r} is inherited: it is deleted through session {place.session!r}, "
                "which wrote it"
            )
        places[id] = place
    return places


def _change(
    context: AsyncContext, look: Look, place: Placed, head: Head, entry: bytes, first: str
) -> list[Command]:
    """Give the commands that replace an entry, and keep what has to be known of the old one."""
    tokens = int(entry.partition(b"\x1f")[0])
    delta = int(place.edit.split(b" ")[1]) if place.edit else 0
    edit = f"{look.version + 1} {delta + tokens - head.tokens} {first}"
    index = place.depth - place.above - 1
    return [
        ("LSET", context.key(look.tree, f"b:{place.segment}"), index, entry),
        ("HSET", context.key(look.tree, f"e:{place.segment}"), place.depth, edit),
        ("HSET", context.key(look.tree, "t"), "e", 1),
    ]


def _first_digest(place: Placed, head: Head, body: bytes) -> str:
    if place.edit is not None:
        return place.edit.split(b" ")[2].decode()
    return digest(head.role, decode_body(body, head.id)).hex()
