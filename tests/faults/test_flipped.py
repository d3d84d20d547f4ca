"""A bit that a disk flipped is told by the read that meets it, and by a check."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sapwood.errors import SapwoodError, StoreCorruptError
from sapwood.model import (
    EntryRef,
    ForkPoint,
    NewMessage,
    NewOverlay,
    NewSession,
    Read,
    Search,
    TextPart,
)
from sapwood.stores.sqlite import SqliteStore
from sapwood.stores.sqlite.checksum import checksum
from sapwood.testing import COUNTS

from .support import ADA, make_session, open_store, raw
from .test_schema import FIXTURES

FLIPS = 160
SESSIONS = ("s", "t")
WORDS = ("the", "lamps", "along", "quay", "were", "lit", "one", "by", "while", "harbour", "still")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a closed database with something of everything that can be said."""
    path = tmp_path_factory.mktemp("written") / "s.db"
    dice = random.Random(0)
    with open_store(path, durability="normal") as store:
        for session in SESSIONS:
            make_session(store, session)
            ids = [f"{session}{n}" for n in range(40)]
            store.append(ADA, session, [say(id, dice) for id in ids[:20]])
            for id in ids[20:]:
                store.append(ADA, session, [say(id, dice)])
            store.update_message(ADA, session, say(ids[7], dice))
            store.delete_messages(ADA, session, [ids[9]])
            store.append(ADA, session, [say(f"{session}branch", dice)], parent=ids[30])
            store.put_document(ADA, f"note {session}", text(dice).encode())
        ends = [EntryRef(kind="message", id=id) for id in ("t3", "t6")]
        overlay = NewOverlay(id="o", first=ends[0], last=ends[1], summary=text(dice))
        store.add_overlay(ADA, "t", overlay)
        store.finish_deletions()
        assert store.admin.check() == []
    return path


def text(dice: random.Random) -> str:
    return " ".join([*dice.choices(WORDS, k=dice.randrange(5, 60)), f"{dice.random()}"])


def say(id: str, dice: random.Random) -> NewMessage:
    return NewMessage(id=id, role="user", parts=[TextPart(text=text(dice))])


def flipped(written: Path, folder: Path, at: int, bit: int) -> Path:
    """Copy the database, with another bit somewhere."""
    data = bytearray(written.read_bytes())
    data[at] ^= 1 << bit
    path = folder / "flipped.db"
    for file in folder.glob("flipped.db*"):
        file.unlink()
    path.write_bytes(data)
    return path


class Seen(NamedTuple):
    """What reads gave, RAISED if nothing, and what a check told."""

    paths: list[Any]
    shown: list[Any]
    pieces: list[Any]
    problems: Any


RAISED = "raised"
NOTHING = (RAISED, None, [None], [])


def look(path: Path) -> Seen | None:
    """Read everything; None when the database cannot even be opened."""
    try:
        store = open_store(path)
    except SapwoodError:
        return None
    with store:
        return Seen(
            [tried(lambda s=s: store.read(ADA, s, Read(overlays=False)).entries) for s in SESSIONS],
            [tried(lambda s=s: store.read(ADA, s, Read()).entries) for s in SESSIONS],
            [tried(read) for read in pieces(store)],
            tried(store.admin.check),
        )


def tried(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except SapwoodError:
        return RAISED


def pieces(store: SqliteStore) -> list[Callable[[], Any]]:
    """Give reads that find their one thing by an index of the database."""
    ids = [f"{s}{n}" for s in SESSIONS for n in range(0, 40, 3)]
    return [
        *(lambda id=id: store.find_messages(ADA, id[0], [id]) for id in ids),
        *(lambda s=s: store.find_document(ADA, f"note {s}") for s in SESSIONS),
        *(lambda s=s: store.list_overlays(ADA, s) for s in SESSIONS),
    ]


@pytest.mark.fault
def test_no_flipped_bit_makes_a_read_give_what_nobody_wrote(written: Path, tmp_path: Path) -> None:
    before = look(Path(shutil.copy(written, tmp_path / "whole.db")))
    assert before is not None
    dice = random.Random(5)
    told = 0
    for _ in range(FLIPS):
        at, bit = dice.randrange(written.stat().st_size), dice.randrange(8)
        seen = look(flipped(written, tmp_path, at, bit))
        if seen is not None:
            assert_nothing_else(seen, before, (at, bit))
        told += seen != before
    COUNTS["bits flipped"] += FLIPS
    COUNTS["bits flipped, and told"] += told
    assert told > FLIPS / 5


def assert_nothing_else(seen: Seen, before: Seen, where: object) -> None:
    """See that reads gave what was written or raised; what is left out is told by a check."""
    for found, whole in zip(seen.paths, before.paths, strict=True):
        assert found in (RAISED, whole), where
    known = [entry for entries in (*before.shown, *before.paths) for entry in entries]
    for found in seen.shown:
        assert found == RAISED or all(entry in known for entry in found), where
    for found, whole in zip(seen.pieces, before.pieces, strict=True):
        assert found == whole or found in NOTHING, where
    if seen[:3] != before[:3]:
        assert seen.problems != [], where


@pytest.mark.fault
@pytest.mark.parametrize("bit", range(8))
def test_a_flipped_bit_in_a_text_is_told_with_the_id_of_its_message(
    written: Path, tmp_path: Path, bit: int
) -> None:
    id = f"s{20 + bit}"
    with open_store(Path(shutil.copy(written, tmp_path / "whole.db"))) as store:
        [message] = store.find_messages(ADA, "s", [id])
        assert message is not None
    at = written.read_bytes().index(message.text.split()[-1].encode())
    apart = NewSession(id="apart", fork=ForkPoint(session="s", detach=True))
    with open_store(flipped(written, tmp_path, at + 2, bit)) as store:
        for read in (
            lambda: store.read(ADA, "s", Read()),
            lambda: store.find_messages(ADA, "s", [id]),
            lambda: store.append(ADA, "s", [NewMessage(id=id, role="user", parts=message.parts)]),
            lambda: store.create_session(ADA, apart),
        ):
            with pytest.raises(StoreCorruptError, match=id):
                read()
        assert [(it.kind, it.where) for it in store.admin.check()] == [("message", id)]
        assert [it.kind for it in store.admin.repair()] == ["message"]
        hits = store.search(ADA, Search(text="lamps OR quay OR harbour OR the", limit=500)).hits
        assert id not in {hit.entry.id for hit in hits}
        assert len(hits) > 50
        store.delete_messages(ADA, "s", [id])
        assert store.admin.check() == []


@pytest.mark.fault
def test_a_deletion_that_nobody_made_is_told(written: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(written, tmp_path / "s.db"))
    with raw(path) as connection:
        connection.execute("UPDATE message SET body = NULL WHERE id = 's12'")
    with open_store(path) as store:
        with pytest.raises(StoreCorruptError, match="s12"):
            store.read(ADA, "s", Read())
        assert ("message", "s12") in {(it.kind, it.where) for it in store.admin.check()}


@pytest.mark.fault
@pytest.mark.parametrize(
    ("damage", "kind", "where"),
    [
        ("UPDATE overlay SET summary = replace(summary, 'the', 'thy')", "overlay", "1"),
        ("UPDATE overlay SET summary = CAST(x'c328' AS TEXT)", "overlay", "1"),
        ("UPDATE document SET value = x'00' WHERE key = 'note s'", "document", "note s"),
        ("UPDATE message SET role = CAST(x'c328' AS TEXT) WHERE id = 't2'", "message", "t2"),
    ],
)
def test_damage_in_a_summary_a_document_or_a_role_is_told(
    written: Path, tmp_path: Path, damage: str, kind: str, where: str
) -> None:
    path = Path(shutil.copy(written, tmp_path / "s.db"))
    with raw(path) as connection:
        connection.execute(damage)
    with open_store(path) as store:
        with pytest.raises(StoreCorruptError):
            store.find_document(ADA, "note s") if kind == "document" else store.read(
                ADA, "t", Read()
            )
        assert (kind, where) in {(it.kind, it.where) for it in store.admin.check()}


@pytest.mark.fault
def test_a_check_goes_on_after_a_document_whose_key_cannot_be_read(
    written: Path, tmp_path: Path
) -> None:
    path = Path(shutil.copy(written, tmp_path / "s.db"))
    with raw(path) as connection:
        connection.execute(
            "UPDATE document SET key = CAST(x'c328' AS TEXT) WHERE key = 'note s';"
            " UPDATE document SET value = x'00' WHERE key = 'note t';"
            " UPDATE session SET lead = lead + 7 WHERE id = 't'"
        )
        [(version,)] = connection.execute("SELECT min(version) FROM document")
    with open_store(path) as store:
        told = [(it.kind, it.where) for it in store.admin.check()]
    assert told == [("document", str(version)), ("document", "note t"), ("session", "t")]


DAMAGE_OF_AN_OVERLAY = {
    "another word": "summary = replace(summary, 'the', 'thy')",
    "not UTF-8": "summary = CAST(x'c328' AS TEXT)",
    "not JSON": "metadata = x'7b'",
    "not an object": "metadata = x'31'",
    "another end": "last = last + 1",
}


@pytest.mark.fault
@pytest.mark.parametrize("damage", DAMAGE_OF_AN_OVERLAY.values(), ids=DAMAGE_OF_AN_OVERLAY)
def test_a_damaged_overlay_can_be_undone(written: Path, tmp_path: Path, damage: str) -> None:
    path = Path(shutil.copy(written, tmp_path / "s.db"))
    with open_store(path) as store:
        other = NewOverlay(
            id="p",
            first=EntryRef(kind="message", id="t12"),
            last=EntryRef(kind="message", id="t14"),
            summary="the others",
        )
        store.add_overlay(ADA, "t", other)
    with raw(path) as connection:
        connection.execute(f"UPDATE overlay SET {damage}")
    with open_store(path) as store:
        with pytest.raises(StoreCorruptError, match="overlay"):
            store.read(ADA, "t", Read())
        assert [store.undo_overlay(ADA, "t", id).id for id in ("o", "p")] == ["o", "p"]
        assert store.read(ADA, "t", Read()) == store.read(ADA, "t", Read(overlays=False))
        assert store.list_overlays(ADA, "t") == []
        store.finish_deletions()
        assert store.admin.check() == []


@pytest.mark.fault
def test_a_file_of_the_first_schema_gets_checksums(tmp_path: Path) -> None:
    path = Path(shutil.copy(FIXTURES / "schema-0001.db", tmp_path / "s.db"))
    open_store(path).close()
    with raw(path) as connection:
        connection.execute(
            "UPDATE message SET body = CAST(replace(body, 'edited', 'editor') AS BLOB)"
        )
    with open_store(path) as store, pytest.raises(StoreCorruptError, match="not as it was written"):
        store.read(ADA, "main", Read())


def test_a_checksum_comes_out_as_it_was_stored() -> None:
    body = b'{"parts":[{"type":"text","text":"a"}]}'
    row = (1 << 24 | 1, 1, "m1", "user", 5, 1, 1_700_000_000_000_000, body)
    assert checksum(row) == 3184279125
    assert checksum((*row[:-1], None)) == 268705305
