"""Copying a store: all that its owners have, a session at a time."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable, Sequence

import msgspec

from ...errors import ConflictError, NotFoundError, SapwoodError, StoreCorruptError, UsageError
from ...model import Position
from ...store import Store
from ..export import all_names, in_order
from ..import_marks import KEEP_S
from ..lines import MOST_TOLD, first_few, is_for_a_gap
from ..named_session import lasting_documents
from .events import (
    CopyBegun,
    CopyDone,
    CopyFailed,
    CopyProgress,
    CopyStatus,
    OnEvent,
    SessionCopied,
)
from .session import OnProgress, SessionCopy
from .sides import Sides

DocumentValues = dict[str, bytes]
KnownDigests = dict[str, list[str]]
"""By key, the digests of what copies wrote: only that may be replaced."""

NOTES_KEY = "copied:documents"
"""A document of the owner with an expiry, in which a copy notes what it has written."""
MOST_DOCUMENT_ROUNDS = 5
PROBE = "copying:probe"
PROBE_S = 60.0


def copy_store(
    source: Store,
    target: Store,
    *,
    owners: Sequence[str] | None = None,
    on_event: OnEvent = lambda event: None,
) -> CopyDone:
    """Copy the sessions and documents of these owners, or of all, from one store to another.

    Idempotent and resumable: what is on the target and equal is skipped, and a copy that was
    killed goes on when it is run again. After each session both sides are read and compared. A
    session that cannot be copied keeps no others from it but its forks, and those that hold a
    place open for its summaries. It is told at the end, by `ConflictError` when others wrote
    something else on the target (nothing of that session is written) or a place is held open, and
    by `StoreCorruptError` when the target does not have what was written to it.
    Raises `UsageError` when both are the same store, and `NotFoundError` for an owner that has
    nothing. What `on_event` raises ends the copy between two writes.
    """
    wanted = check_owners(source, owners)
    copy = _StoreCopy(source, target, on_event)
    if wanted:
        _refuse_same(source, target, wanted[0])
    copy.begin(wanted)
    for owner in wanted:
        copy.copy_owner(owner)
    return copy.end()


def check_owners(source: Store, owners: Sequence[str] | None) -> list[str]:
    """Return these owners, each once, or all; one that has nothing is `NotFoundError`."""
    names = source.admin.list_owners()
    for owner in owners or ():
        if owner not in names:
            raise NotFoundError(f"there is no owner {owner!r} to copy", kind="owner", id=owner)
    return names if owners is None else list(dict.fromkeys(owners))


class _StoreCopy:
    """Counts what was done, and tells it."""

    def __init__(self, source: Store, target: Store, on_event: OnEvent) -> None:
        self._source = source
        self._target = target
        self._on_event = on_event
        self._gone_over = self._verified = self._total = self._written = 0
        self._counts: dict[CopyStatus, int] = {"copied": 0, "updated": 0, "equal": 0, "gone": 0}
        self._failures: list[tuple[str, SapwoodError]] = []

    def begin(self, owners: Sequence[str]) -> None:
        """Report how much there is."""
        self._total = sum(self._source.statistics(owner).messages for owner in owners)
        self._on_event(CopyBegun(owners=len(owners), messages=self._total))

    def copy_owner(self, owner: str) -> None:
        """Copy an owner's documents and sessions, sources of forks first."""
        sides = Sides(self._source, self._target, owner)
        self._copy_documents(sides)
        everything = all_names(sides.source, owner)
        awaited = awaited_by_forks(sides, everything)
        order = list(in_order(sides.source, owner, everything))
        names: set[str] = set()
        failed: set[str] = set()
        open_places = OpenPlaces(sides)
        for name in order:
            copy = SessionCopy(sides, name, names, failed, awaited)
            status = self._copy_session(sides, name, copy, failed, self._tick)
            if status is not None and not open_places.keep(name, status, copy):
                self._count(owner, name, status, copy)
            names.add(name)
        if open_places.sessions:
            self._empty_gaps(sides, order, open_places, failed)

    def _empty_gaps(
        self, sides: Sides, order: Sequence[str], open_places: OpenPlaces, failed: set[str]
    ) -> None:
        """Empty the gaps that were held open for forks; those that failed still await theirs.

        What shows such a place is not as its source is, and is told as a failure.
        """
        awaited = awaited_by_forks(sides, failed)
        above: set[str] = set()
        for name in order:
            if name in open_places.sessions:
                last = SessionCopy(sides, name, above, failed, awaited)
                # Nothing is counted: it was before.
                status = self._copy_session(sides, name, last, failed, lambda *counts: None)
                first, copy = open_places.sessions[name]
                copy.add(last)
                places = [] if status is None else open_places.shown_in(name)
                if places:
                    self._fail(sides.owner, name, _still_open(places))
                if status is None or places:
                    self._written += copy.written
                else:
                    outcome = status if first == "equal" else first
                    self._count(sides.owner, name, outcome, copy)
            above.add(name)

    def _copy_documents(self, sides: Sides) -> None:
        try:
            status = copy_documents(sides)
        except (ConflictError, UsageError, StoreCorruptError) as error:
            self._fail(sides.owner, None, error)
            return
        event = SessionCopied(
            owner=sides.owner, session=None, status=status, messages=0, written=0, notes=[]
        )
        self._on_event(event)

    def _copy_session(
        self, sides: Sides, name: str, copy: SessionCopy, failed: set[str], ticks: OnProgress
    ) -> CopyStatus | None:
        """Copy a session, and give what became of it; None when it failed."""
        try:
            return copy.run(ticks)
        except (ConflictError, UsageError, StoreCorruptError) as error:
            if isinstance(error, UsageError):
                copy.forget()
            failed.add(name)
            self._fail(sides.owner, name, error)
            return None

    def _count(self, owner: str, name: str, status: CopyStatus, copy: SessionCopy) -> None:
        self._counts[status] += 1
        self._written += copy.written
        self._on_event(
            SessionCopied(
                owner=owner,
                session=name,
                status=status,
                messages=copy.messages,
                written=copy.written,
                notes=copy.notes,
            )
        )

    def _tick(self, gone_over: int, verified: int) -> None:
        self._gone_over = _within(self._gone_over + gone_over, self._total)
        self._verified = _within(self._verified + verified, self._total)
        self._on_event(
            CopyProgress(gone_over=self._gone_over, verified=self._verified, messages=self._total)
        )

    def _fail(self, owner: str, session: str | None, error: SapwoodError) -> None:
        what = "documents" if session is None else f"session {session!r}"
        self._failures.append((f"owner {owner!r}, {what}: {error}", error))
        self._on_event(
            CopyFailed(owner=owner, session=session, error=error.code, message=str(error))
        )

    def end(self) -> CopyDone:
        """Bring the target up to date, and report what was done, or what was not."""
        self._target.finish_deletions()
        done = CopyDone(
            copied=self._counts["copied"],
            updated=self._counts["updated"],
            equal=self._counts["equal"],
            failed=len(self._failures),
            written=self._written,
        )
        self._on_event(done)
        if self._failures:
            raise self._error()
        return done

    def _error(self) -> SapwoodError:
        text = f"not everything was copied: {first_few([text for text, _ in self._failures])}"
        errors = [error for _, error in self._failures]
        if any(isinstance(it, StoreCorruptError) for it in errors):
            return StoreCorruptError(text)
        is_conflict = any(isinstance(it, ConflictError) for it in errors)
        return ConflictError(text) if is_conflict else UsageError(text)


def _still_open(places: Sequence[str]) -> ConflictError:
    shown = ", ".join(map(repr, places[:MOST_TOLD]))
    return ConflictError(
        f"it shows an empty message where the source has deleted {shown}: a summary of a fork that"
        " was not copied ends there; mend what is told of that fork, and copy again"
    )


def _within(count: int, total: int) -> int:
    """Keep a figure in its range: others may write while it is counted."""
    return max(0, min(count, total))


def _refuse_same(source: Store, target: Store, owner: str) -> None:
    """Refuse a copy of a store onto itself, whatever its names are: write there, and look here."""
    before = source.find_document(owner, PROBE)
    put = target.put_document(owner, PROBE, b"", expires_in_s=PROBE_S)
    seen = source.find_document(owner, PROBE)
    target.delete_document(owner, PROBE)
    if seen is not None and seen != before and seen.version == put.version:
        raise UsageError("both are the same store: copy to another one", path="target")


def awaited_by_forks(sides: Sides, names: Iterable[str]) -> set[Position]:
    """Find the ends of the overlays that forks have in the source."""
    found: set[Position] = set()
    for name in names:
        record = sides.here(name).find_record()
        if record is None or record.forked_at is None:
            continue
        # One that is deleted meanwhile awaits nothing.
        with contextlib.suppress(NotFoundError):
            for overlay in sides.source.list_overlays(sides.owner, name):
                found |= {overlay.first, overlay.last}
    return found


class OpenPlaces:
    """Knows the places of one owner, and who shows them: the session itself, and its forks."""

    def __init__(self, sides: Sides) -> None:
        self._sides = sides
        self._places: dict[str, None] = {}
        self.sessions: dict[str, tuple[CopyStatus, SessionCopy]] = {}
        """What became of each, which is told when its places are gone."""

    def keep(self, name: str, status: CopyStatus, copy: SessionCopy) -> bool:
        """Note a session that was copied, if it shows a place; return whether it does."""
        self._places |= dict.fromkeys(copy.kept)
        if not self.shown_in(name):
            return False
        self.sessions[name] = status, copy
        return True

    def shown_in(self, name: str) -> list[str]:
        """Find the places that a session shows now; one that is gone shows nothing."""
        try:
            found = self._sides.there(name).find(list(self._places))
        except NotFoundError:
            return []
        return [it.id for it in found.values() if is_for_a_gap(it)]


def copy_documents(sides: Sides) -> CopyStatus:
    """Copy an owner's documents, but for those that expire; return what became of them.

    Raises `ConflictError`, before anything is written, when others wrote one on the target.
    """
    status: CopyStatus = "equal"
    written: DocumentValues | None = None
    for _ in range(MOST_DOCUMENT_ROUNDS):
        wanted, there = (
            {it.key: it.value for it in lasting_documents(store, sides.owner)}
            for store in (sides.source, sides.target)
        )
        known = _known_digests(sides)
        todo = _keys_to_write(wanted, there, known)
        if not todo:
            _note_digests(sides, known, {key: [_digest(value)] for key, value in wanted.items()})
            return status
        if wanted == written:
            names = ", ".join(repr(key) for key in sorted(todo)[:MOST_TOLD])
            raise StoreCorruptError(f"the copy is not equal to its source: documents {names}")
        status = "updated" if there else "copied"
        _write_documents(sides, known, wanted, there, todo)
        written = wanted
    raise ConflictError("they change faster than they are copied: copy them again later")


def _keys_to_write(wanted: DocumentValues, there: DocumentValues, known: KnownDigests) -> set[str]:
    """Return the keys to write or delete; one that others wrote is a conflict."""
    differ = {key for key, value in wanted.items() if there.get(key) != value}
    gone = {key for key in known.keys() - wanted.keys() if key in there}
    theirs = [
        key
        for key in sorted(differ | gone)
        if key in there and _digest(there[key]) not in known.get(key, ())
    ]
    refused = [key for key in theirs if key in wanted]
    if refused:
        names = ", ".join(repr(key) for key in refused[:MOST_TOLD])
        more = len(refused) - MOST_TOLD
        rest = f" and {more} more" if more > 0 else ""
        raise ConflictError(f"none was written, the target has others: {names}{rest}")
    return (differ | gone) - set(theirs)


def _write_documents(
    sides: Sides, known: KnownDigests, wanted: DocumentValues, there: DocumentValues, todo: set[str]
) -> None:
    # What is going to be written is noted first: after a kill, it is known to be ours.
    changed = {key: [_digest(side[key]) for side in (there, wanted) if key in side] for key in todo}
    _note_digests(sides, known, {**known, **changed})
    for key in sorted(todo):
        if key in wanted:
            sides.target.put_document(sides.owner, key, wanted[key])
        else:
            sides.target.delete_document(sides.owner, key)


def _known_digests(sides: Sides) -> KnownDigests:
    document = sides.target.find_document(sides.owner, NOTES_KEY)
    try:
        return {} if document is None else msgspec.json.decode(document.value, type=KnownDigests)
    except msgspec.MsgspecError:
        return {}


def _note_digests(sides: Sides, known: KnownDigests, changed: KnownDigests) -> None:
    if changed != known:
        value = msgspec.json.encode(changed)
        sides.target.put_document(sides.owner, NOTES_KEY, value, expires_in_s=KEEP_S)


def _digest(value: bytes) -> str:
    return hashlib.blake2b(value, digest_size=16).hexdigest()
