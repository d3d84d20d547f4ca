"""What a write depends on, and what else it writes: fences, versions, documents, a patch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec import UNSET
from msgspec.structs import asdict, replace

from ....model import Document, Fence, Root, SessionPatch
from ....rules.codec import decode_json, encode_json
from ....rules.merge import merge_json
from ....rules.system import encode_system, key_digest, merged
from ...base.extras import DocumentWrite, Extras
from ...base.refusals import lease_lost, refuse_stale_session, session_closed, stale_document
from ..look import Look
from ..rows import (
    RedisSessionRow,
    document_of,
    encode_document,
    encode_row,
    is_expired,
    own_mark,
)
from .client import RedisCommand
from .context import AsyncRedisContext, flat_pairs
from .data import refuse_other_tip
from .deletion import PINS


class ExtraWrites(NamedTuple):
    """What is written beside what a unit of work is for."""

    commands: list[RedisCommand]
    changes: dict[str, Any]
    """The fields of the session's record that change by them."""
    versions: dict[str, int]
    """Those that the documents have then; 0 for the deleted ones."""


async def named_documents(
    context: AsyncRedisContext, look: Look, keys: Sequence[str]
) -> dict[str, Document]:
    """Return those of a session's documents that have some keys, also expired ones."""
    if not keys:
        return {}
    place = context.key(look.tree, f"k:{look.row.number}")
    found = await context.client.run("HMGET", place, *keys)
    return {
        key: document_of(key, stored)
        for key, stored in zip(keys, found, strict=True)
        if stored is not None
    }


async def present_versions(
    context: AsyncRedisContext, look: Look, extras: Extras
) -> dict[str, int]:
    """Return the versions that documents have which came along before."""
    stored = await named_documents(context, look, [it.key for it in extras.documents])
    return {it.key: 0 for it in extras.documents} | {k: it.version for k, it in stored.items()}


async def refuse_lost(context: AsyncRedisContext, look: Look, fences: Sequence[Fence]) -> None:
    """Refuse a write when one of its fences does not hold any more."""
    _refuse_lost(look, fences, await named_documents(context, look, [it.key for it in fences]))


def _refuse_lost(look: Look, fences: Sequence[Fence], stored: dict[str, Document]) -> None:
    for fence in fences:
        found = stored.get(fence.key)
        if found is None or found.version != fence.version:
            raise lease_lost(fence.key, look.row.id)


async def refuse_lost_or_closed(
    context: AsyncRedisContext, look: Look, fences: Sequence[Fence]
) -> None:
    """Refuse a change of what is shown when a fence is lost, or the session closed."""
    await refuse_lost(context, look, fences)
    refuse_closed(look)


def refuse_closed(look: Look) -> None:
    """Refuse what a closed session does not take."""
    if look.row.is_closed:
        raise session_closed(look.row.id)


async def refuse_by_extras(
    context: AsyncRedisContext, look: Look, expected_tip: str | Root | None, extras: Extras
) -> dict[str, Document]:
    """Refuse a write when what it depends on does not hold; return the documents that it names."""
    fenced, changed = [it.key for it in extras.fences], [it.key for it in extras.documents]
    stored = await named_documents(context, look, [*fenced, *changed])
    _refuse_lost(look, extras.fences, stored)
    refuse_stale_session(look.row.id, look.row.version, extras.expected_version)
    await refuse_other_tip(context, look, expected_tip)
    return stored


def refuse_stale_documents(look: Look, extras: Extras, stored: dict[str, Document]) -> None:
    """Refuse a write when a document that it changes is at another version."""
    for new in extras.documents:
        refuse_stale(new.key, stored.get(new.key), new.expected_version, look.now)


def refuse_stale(key: str, stored: Document | None, expected: int | None, now: int) -> None:
    """Refuse to change a document that is not at the expected version."""
    found = None if stored is None else stored.version
    is_free = stored is None or is_expired(stored, now)
    if expected is not None and found != expected and not (expected == 0 and is_free):
        raise stale_document(key, found, expected)


def write_extras(
    context: AsyncRedisContext, look: Look, extras: Extras, stored: dict[str, Document]
) -> ExtraWrites:
    """Decide what is written beside; refuse documents that are at another version."""
    refuse_stale_documents(look, extras, stored)
    key, version = context.key(look.tree, f"k:{look.row.number}"), look.version + 1
    commands: list[RedisCommand] = []
    changes: dict[str, Any] = {}
    for new in extras.documents:
        if new.value is not None:
            replaced = stored.get(new.key)
            document = written_document(new, new.value, version, look.now, replaced)
            commands.append(("put", key, new.key, encode_document(document)))
        elif new.key in stored:
            commands.append(("drop", key, new.key))
        if new.key == PINS:
            changes["c"] = ""
    if extras.patch is not None:
        counted = {"ver": look.row.version + 1, "up": look.now}
        changes |= patched_fields(look.row, extras.patch) | counted
        commands.append(context.tell(look.tree, look.row.id, look.row.version + 1, look.now))
    if changes:
        commands.append(context.change(look, changes))
    return ExtraWrites(commands, changes, written_versions(extras, version))


def written_document(
    new: DocumentWrite, value: bytes, version: int, now: int, replaced: Document | None
) -> Document:
    """Return a document as it is put, maybe in place of another; one that expired is not there."""
    is_first = replaced is None or is_expired(replaced, now)
    return Document(
        key=new.key,
        value=value,
        version=version,
        updated_us=now,
        created_us=now if replaced is None or is_first else replaced.created_us,
        expires_us=None if new.expires_in_us is None else now + new.expires_in_us,
        inherit=new.inherit,
    )


def written_versions(extras: Extras, version: int) -> dict[str, int]:
    """Return the versions of documents that come along, by key."""
    return {it.key: 0 if it.value is None else version for it in extras.documents}


def patched_fields(row: RedisSessionRow, patch: SessionPatch) -> dict[str, Any]:
    """Return the fields of a record that a patch changes, as they are stored."""
    given = _given(patch)
    changes: dict[str, Any] = {}
    if "closed" in given:
        changes["cl"] = _flag(given.pop("closed"))
    if "active_us" in given:
        changes["act"] = given.pop("active_us")
    if "system" in given:
        changes["sys"] = encode_system(merged(row.system, given.pop("system")))
    if "merge" in given:
        held = decode_json(row.attributes, f"session {row.id!r}")
        given["attributes"] = merge_json(held, given.pop("merge"))
    if "attributes" in given:
        changes["attributes"] = encode_json(given.pop("attributes"), "attributes")
        if row.has_data:
            changes["data"] = ""
    if given:
        changes["p"] = encode_row(replace(row.profile, **given))
    return changes


async def index_key(
    context: AsyncRedisContext, owner: str, look: Look, patch: SessionPatch | None
) -> None:
    """Let a session be found by the key that it is about to have.

    It is found by its earlier ones, too, as long as its name stands: what it says itself decides.
    So nothing has to happen after the key is there, where somebody else may come between.
    """
    if patch is None or patch.system is UNSET or not patch.system.key:
        return
    key, row = patch.system.key, look.row
    if row.system.key != key:
        member = f"{int(row.number):016d}{row.id}"
        args = (row.id, member, key_digest(key).hex())
        await context.client.run_script("index_key", [context.keys.owner(owner)], *args)


def _given(patch: SessionPatch) -> dict[str, Any]:
    return {name: value for name, value in asdict(patch).items() if value is not UNSET}


def _flag(value: bool) -> str:
    return "1" if value else ""


def is_without_look(extras: Extras) -> bool:
    """Whether a script can decide by itself: it cannot merge JSON."""
    patch = extras.patch
    return patch is None or (patch.merge is UNSET and patch.system is UNSET)


def words_along(extras: Extras, row: RedisSessionRow | None) -> list[Any]:
    """Return what comes along with an append as its script takes it; a row that was looked at."""
    fields: dict[str, Any] = {}
    if extras.patch is not None:
        fields = _unread(extras.patch) if row is None else patched_fields(row, extras.patch)
    expected = "" if extras.expected_version is None else extras.expected_version
    counts = len(extras.fences), len(extras.documents), _flag(extras.patch is not None)
    return [
        " ".join(map(str, (expected, *counts))),
        *(word for it in extras.fences for word in (it.key, it.version)),
        *(word for it in extras.documents for word in _document_words(it)),
        *flat_pairs(fields),
    ]


def _document_words(new: DocumentWrite) -> tuple[Any, ...]:
    expected = "" if new.expected_version is None else new.expected_version
    if new.value is None:
        return new.key, expected, "d", ""
    expires = "" if new.expires_in_us is None else new.expires_in_us
    return new.key, expected, f"{expires}{own_mark(new.inherit)}", new.value


def _unread(patch: SessionPatch) -> dict[str, Any]:
    """Return what a patch changes, for a script that reads the record: `p.` and what is inside."""
    given = _given(patch)
    changes: dict[str, Any] = {}
    if "closed" in given:
        changes["cl"] = _flag(given.pop("closed"))
    if "active_us" in given:
        changes["act"] = given.pop("active_us")
    if "attributes" in given:
        changes["attributes"] = encode_json(given.pop("attributes"), "attributes")
    inside = {name: encode_row(it) if it not in (None, []) else "" for name, it in given.items()}
    return changes | {f"p.{name}": it for name, it in inside.items()}
