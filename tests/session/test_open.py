"""`open`: URLs, the environment and the user's data folder."""

from __future__ import annotations

import stat
import sys
from pathlib import Path
from typing import Any

import pytest

import sapwood
from sapwood.errors import MessageTooLargeError, StoreUnavailableError, UsageError
from sapwood.model import FilePart, ToolCallPart, ToolResultPart
from sapwood.stores.sqlite import AsyncSqliteStore, SqliteStore


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SAPWOOD_STORE", raising=False)
    return tmp_path


def append_one(url: str | None = None) -> None:
    with sapwood.open(url) as sessions:
        sessions.session("chat").append("user", "hello")


def texts(url: str | None = None) -> list[str]:
    with sapwood.open(url) as sessions:
        return [message.text for message in sessions.get("chat").history().messages_only]


def test_three_slashes_are_relative_and_four_are_absolute(elsewhere: Path) -> None:
    append_one("sqlite:///chat.db")
    assert (elsewhere / "chat.db").exists()
    assert texts(f"sqlite:///{elsewhere}/chat.db") == ["hello"]
    (elsewhere / "deeper").mkdir()
    append_one("sqlite:///deeper/chat.db")
    assert (elsewhere / "deeper" / "chat.db").exists()


def test_a_url_spells_odd_characters_by_percent(elsewhere: Path) -> None:
    append_one("SQLite:///a%20b%23c%3F%25.db")
    assert (elsewhere / "a b#c?%.db").exists()


def test_memory_is_gone_when_closed() -> None:
    append_one("memory://")
    with sapwood.open("memory://") as sessions:
        assert sessions.find("chat") is None


def test_the_environment_names_the_store(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAPWOOD_STORE", "sqlite:///from-env.db")
    append_one()
    assert texts("sqlite:///from-env.db") == ["hello"]


@pytest.mark.skipif(sys.platform != "linux", reason="the data folder of Linux")
def test_nothing_at_all_is_a_file_in_the_users_data_folder(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(elsewhere / "data"))
    append_one()
    folder = elsewhere / "data" / "sapwood"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert texts(f"sqlite:///{folder}/sapwood.db") == texts() == ["hello"]
    monkeypatch.setenv("XDG_DATA_HOME", "relative/is/ignored")
    monkeypatch.setenv("HOME", str(elsewhere / "home"))
    monkeypatch.setenv("SAPWOOD_STORE", "")
    append_one()
    assert (elsewhere / "home" / ".local" / "share" / "sapwood" / "sapwood.db").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="the data folder of Linux")
def test_a_data_folder_that_cannot_be_made_is_told(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (elsewhere / "file").write_text("no folder")
    monkeypatch.setenv("XDG_DATA_HOME", str(elsewhere / "file"))
    with pytest.raises(StoreUnavailableError, match="SAPWOOD_STORE"):
        sapwood.open()


@pytest.mark.parametrize("opener", [sapwood.open, sapwood.open_async])
@pytest.mark.parametrize(
    "url",
    [
        "agent",
        "",
        "sqlite:agent.db",
        "sqlite://agent.db",
        "sqlite://",
        "sqlite:///",
        "sqlite:///:memory:",
        "sqlite:///a.db?mode=ro",
        "sqlite:///a.db#x",
        "memory://x",
        "mssql://ada:secret@host/db",
        "C:\\agent.db",
    ],
)
def test_a_wrong_url_says_which_are_right(opener: object, url: str, elsewhere: Path) -> None:
    with pytest.raises(UsageError) as caught:
        opener(url)  # type: ignore[operator]
    assert caught.value.path == "url"
    assert "secret" not in str(caught.value)
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize(
    "scheme", ["postgresql", "redis", "mongodb", "opensearch", "mariadb", "sqlalchemy+postgresql"]
)
def test_opening_a_server_connects_to_nothing_and_hides_the_password(scheme: str) -> None:
    # Port 1 has no server: whoever connected would be refused.
    path = "" if scheme == "opensearch" else "/0" if scheme == "redis" else "/db"
    with sapwood.open(f"{scheme}://ada:secret@127.0.0.1:1{path}") as sessions:
        assert "secret" not in repr(sessions.store)
        assert "secret" not in str(vars(sessions))


@pytest.mark.parametrize("url", ["sqlite:///a.db", "memory://"])
def test_a_message_may_be_as_large_as_was_asked_for(elsewhere: Path, url: str) -> None:
    with sapwood.open(url, max_message_bytes=100) as sessions:
        assert sessions.store.max_message_bytes == 100
        with pytest.raises(MessageTooLargeError, match="the limit is 100"):
            sessions.session("s").append("user", "x" * 100)


def test_a_message_of_more_than_the_usual_size_is_read_cut_and_measured(elsewhere: Path) -> None:
    with sapwood.open("sqlite:///a.db", max_message_bytes=16 * 1024 * 1024) as sessions:
        chat = sessions.session("s")
        chat.append("user", "look")
        chat.append("assistant", ToolCallPart(call_id="c", name="look", input={}))
        data = bytes(9 * 1024 * 1024)
        chat.append("tool", [ToolResultPart(call_id="c", output="x" * len(data))])
        chat.append("user", [FilePart(media_type="image/png", data=data)])
        assert chat.history().bytes == sum(row.bytes for row in chat.row_statistics())
        # The result is left out, whose call was cut off.
        cut = chat.history(limit=2)
        assert (len(cut.entries), cut.bytes) == (1, chat.row_statistics()[-1].bytes)


@pytest.mark.parametrize("scheme", ["postgresql", "redis", "mongodb", "opensearch", "mariadb"])
def test_a_server_is_told_how_large_a_message_may_be(scheme: str) -> None:
    path = "" if scheme == "opensearch" else "/0" if scheme == "redis" else "/db"
    with sapwood.open(f"{scheme}://127.0.0.1:1{path}", max_message_bytes=100) as sessions:
        assert sessions.store.max_message_bytes == 100


def test_other_arguments_are_checked_before_a_file_is_made(elsewhere: Path) -> None:
    with pytest.raises(UsageError, match="durability"):
        sapwood.open("sqlite:///a.db", durability="fast")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="owner"):
        sapwood.open("sqlite:///a.db", owner="")
    for wrong in (0, -1, "1", 2**40):
        with pytest.raises(UsageError, match="max_message_bytes"):
            sapwood.open("sqlite:///a.db", max_message_bytes=wrong)  # type: ignore[arg-type]
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize(
    ("asked", "found"), [({}, 2), ({"durability": "full"}, 2), ({"durability": "normal"}, 1)]
)
async def test_rule_01_a_commit_waits_for_the_disk_unless_asked_not_to(
    asked: dict[str, Any], found: int
) -> None:
    def synchronous(store: SqliteStore | AsyncSqliteStore) -> object:
        database = getattr(store._runner, "_database", store._runner)
        return database._writer.unit.tx.raw.pragma("synchronous")

    with sapwood.open("sqlite:///a.db", **asked) as sessions:
        assert isinstance(sessions.store, SqliteStore)
        assert synchronous(sessions.store) == found
    async with sapwood.open_async("sqlite:///a.db", **asked) as waiting:
        assert isinstance(waiting.store, AsyncSqliteStore)
        assert synchronous(waiting.store) == found


@pytest.mark.parametrize("url", ["sqlite:///a.db", "memory://"])
def test_owner_and_counter_reach_the_sessions(url: str) -> None:
    with sapwood.open(url, owner="ada", token_counter=lambda role, parts: 7) as sessions:
        assert sessions.owner == "ada"
        assert sessions.session("chat").append("user", "hello").tokens == 7


async def test_the_twins_share_a_file() -> None:
    append_one("sqlite:///a.db")
    async with sapwood.open_async("sqlite:///a.db") as sessions:
        chat = await sessions.session("chat")
        await chat.append("assistant", "hello back")
    assert texts("sqlite:///a.db") == ["hello", "hello back"]
