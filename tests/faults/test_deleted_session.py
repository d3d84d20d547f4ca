"""A deleted session leaves nothing behind: in the tables, in the index, or in the bytes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sapwood import SessionManager, ToolCallPart, ToolResultPart
from sapwood.compaction import SummaryAnswer, create_compact_function
from sapwood.context import StoreEntries
from sapwood.model import Usage

from .support import ADA, assert_sound, new_id, open_store, raw
from .test_erased import contents, holds

MARK = "m4rk3r-of-what-is-to-be-forgotten"
KEPT = {"owner", "sequence", "sqlite_sequence", "meta", "reader"}


class Skills:
    """A catalogue with one skill."""

    def get(self) -> str:
        return "- sail: how to sail"

    def load(self, key: str) -> str | None:
        return "First, find a boat." if key == "sail" else None


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.db"


@pytest.fixture
def sessions(path: Path) -> Iterator[SessionManager]:
    with SessionManager(open_store(path), owner=ADA, new_id=new_id) as manager:
        yield manager


def live_fully(sessions: SessionManager, id: str) -> None:
    """Use all that a session has, so that all of it is stored, each with the mark."""
    usage = Usage(id=f"sum-{id}", model=MARK, input_tokens=9, output_tokens=1)
    notes = StoreEntries(sessions.store, ADA, "notes", session=id, scope="session")
    chat = sessions.session(id, title=MARK, tags=[MARK], attributes={"k": MARK}, budget=20_000)
    chat.with_context("memory", default=f"about {MARK}").with_context("skills", provider=Skills())
    chat.with_context("notes", provider=notes).with_searchable_history()
    chat.compact_with(
        create_compact_function(
            lambda prompt: SummaryAnswer(text=f"It was about {MARK}.", usage=usage),
            protect_head=1,
            tail_token_budget=0,
        )
    )
    chat.prepare()
    chat.replace_context_block("memory", f"likes {MARK}")
    chat.append_context_block("memory", MARK)
    chat.put_context_entry("notes", MARK, f"an entry about {MARK}")
    chat.load_context("skills", "sail")
    messages = chat.append_all([("user", f"{MARK} tells a long story " * 20)] * 8)
    chat.append("assistant", ToolCallPart(call_id=MARK, name="look", input={"at": MARK}))
    last = chat.append("tool", ToolResultPart(call_id=MARK, output=MARK))
    chat.pin(messages[3])
    assert chat.compact().status == "done"
    chat.undo_compaction()
    assert chat.compact().status == "done"
    chat.add_usage(Usage(id=f"u-{id}", model=MARK, message=last.id, input_tokens=100))
    chat.edit(messages[-1], f"I mean {MARK}")
    chat.undo()
    chat.prepare()
    chat.search(MARK)


def rows(path: Path) -> dict[str, int]:
    """Count the rows of all tables that hold what belongs to sessions."""
    with raw(path) as connection:
        sql = "SELECT name FROM sqlite_schema WHERE type = 'table'"
        names = [name for (name,) in connection.execute(sql) if name not in KEPT]
        return {
            name: connection.execute(f'SELECT count(*) FROM "{name}"').fetchall()[0][0]
            for name in names
        }


def test_a_deleted_session_leaves_nothing_in_the_tables_or_the_bytes(
    sessions: SessionManager, path: Path
) -> None:
    sessions.session("other").append("user", "hello")
    sessions.finish_deletions()
    before = rows(path)
    live_fully(sessions, "doomed")
    keys = {it.key for it in sessions.store.list_documents(ADA, session="doomed")}
    assert {"prompt", "loaded", "compactor", "redo", "reported", "pins"} <= keys
    assert any("memory" in key for key in keys)
    during = rows(path)
    grown = {name for name in during if during[name] > before[name]}
    assert {"message", "document", "usage", "overlay", "in_force", "session"} <= grown
    assert holds(path, MARK) != []
    sessions.delete("doomed")
    sessions.finish_deletions()
    after = rows(path)
    # The feed tells for a while which sessions went; it names them, and nothing else.
    assert {name: after[name] for name in grown - {"change"}} == {
        name: before[name] for name in grown - {"change"}
    }
    assert holds(path, MARK) == []
    assert sessions.search("boat").hits == []
    sessions.close()
    assert [name for name, data in contents(path).items() if b"find a boat" in data] == []
    assert_sound(path)


def test_a_session_created_again_under_the_name_knows_nothing(
    sessions: SessionManager, path: Path
) -> None:
    live_fully(sessions, "doomed")
    sessions.delete("doomed")
    chat = sessions.session("doomed").with_context("memory", default="nothing yet")
    assert chat.history().entries == []
    assert (chat.compactions(), chat.overlays(), chat.pins(), chat.usage()) == ([], [], [], [])
    assert chat.loaded_context() == []
    assert "nothing yet" in chat.system_prompt()
    assert MARK not in chat.system_prompt()
    assert chat.get_context_block("memory").content == "nothing yet"
    assert chat.record().title is None


def test_what_blocks_of_the_owner_hold_stays(sessions: SessionManager) -> None:
    chat = sessions.session("doomed")
    chat.with_context("people", scope="owner")
    chat.replace_context_block("people", "Ada lives here")
    sessions.delete("doomed")
    other = sessions.session("other")
    other.with_context("people", scope="owner")
    assert other.get_context_block("people").content == "Ada lives here"


def test_a_fork_keeps_its_own_copies(sessions: SessionManager, path: Path) -> None:
    live_fully(sessions, "doomed")
    fork = sessions.fork("doomed", new_id="fork").with_context("memory")
    before = fork.history().entries
    sessions.delete("doomed")
    sessions.finish_deletions()
    assert fork.history().entries == before
    assert fork.get_context_block("memory").content == f"likes {MARK}\n{MARK}"
    sessions.delete("fork")
    sessions.finish_deletions()
    assert holds(path, MARK) == []
