"""Editing and deleting messages, through their home or when that is gone."""

from __future__ import annotations

from collections.abc import Sequence

from ....model import Deleted, Message
from ....rules.codec import Packed
from ...base.refusals import delete_inherited, edit_inherited, no_message
from ..entries import EntryHead, message_of, split_entry
from .client import RedisCommand
from .context import AsyncRedisContext
from .look import Look, PlacedMessage, first_digest

GONE = "-"
"""What is kept in place of a deleted message's digest."""


async def update_message(
    context: AsyncRedisContext, owner: str, session: str, message: Packed
) -> Message:
    """Replace a message's content; its place, time and first digest stay."""
    look = await context.directory.look(owner, session, [message.id], with_sessions=True)
    [place] = look.places
    digest = None if place is None else first_digest(place)
    if place is None or digest is None:
        raise no_message(session, message.id)
    if place.home != look.row.home:
        raise edit_inherited(message.id)
    head, _ = split_entry(place.entry)
    new = head._replace(role=message.role, tokens=message.tokens, version=head.version + 1)
    entry = new.with_body(message.body)
    commands = _replace(context, look, place, head, entry, digest.hex())
    at = f"U {place.segment} {place.depth} {look.now} "
    commands.append(("RPUSH", context.key(look.tree, "f"), at))
    if new.tokens != head.tokens:
        commands += context.forget_context_sums(look)
    await context.apply(owner, look, commands, after_appends=True)
    changed = message_of(entry, str(place.segment), place.depth, place.session)
    assert changed is not None
    return changed


async def delete_messages(
    context: AsyncRedisContext, owner: str, session: str, ids: Sequence[str]
) -> Deleted:
    """Erase messages; their positions and ids stay."""
    look = await context.directory.look(owner, session, ids, with_sessions=True)
    places = _to_erase(look, ids)
    if not places:
        return Deleted(ids=[], quoting_overlays=[])
    commands: list[RedisCommand] = []
    for place in places.values():
        head, _ = split_entry(place.entry)
        entry = head._replace(role="", tokens=0).with_body(b"")
        commands += _replace(context, look, place, head, entry, GONE)
        at = f"D {place.segment} {place.depth} {look.now} {session}"
        commands.append(("RPUSH", context.key(look.tree, "f"), at))
    own = sum(place.home == look.row.home for place in places.values())
    commands.append(("HINCRBY", context.key(look.tree, f"s:{session}"), "m", -own))
    commands += context.forget_context_sums(look)
    key = context.keys.tree(look.tree)
    numbers = [n for place in places.values() for n in (place.segment, place.depth)]
    quoting = await context.client.run_script("quoting_overlays", [key], *numbers)
    await context.apply(owner, look, commands, after_appends=True, only_frees=True)
    return Deleted(ids=list(places), quoting_overlays=[it.decode() for it in quoting])


def _to_erase(look: Look, ids: Sequence[str]) -> dict[str, PlacedMessage]:
    places: dict[str, PlacedMessage] = {}
    for id, place in zip(ids, look.places, strict=True):
        if place is None:
            raise no_message(look.row.id, id)
        if place.entry.endswith(b"\n"):
            continue
        if place.session is not None and place.home != look.row.home:
            raise delete_inherited(id, place.session)
        places[id] = place
    return places


def _replace(
    context: AsyncRedisContext,
    look: Look,
    place: PlacedMessage,
    head: EntryHead,
    entry: bytes,
    digest: str,
) -> list[RedisCommand]:
    """Return the commands that replace an entry, and keep what has to be known of the old one."""
    tokens = int(entry.partition(b"\x1f")[0])
    delta = int(place.edit.split(b" ")[1]) if place.edit else 0
    edit = f"{look.version + 1} {delta + tokens - head.tokens} {digest}"
    index = place.depth - place.above - 1
    return [
        ("LSET", context.key(look.tree, f"b:{place.segment}"), index, entry),
        ("HSET", context.key(look.tree, f"e:{place.segment}"), place.depth, edit),
        ("HSET", context.key(look.tree, "t"), "e", 1),
    ]
