"""An ending has one reason, the first; its hooks run after it, at least once."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

import sapwood
from sapwood.errors import IllegalStateError, NotFoundError, StaleVersionError, UsageError
from sapwood.lifecycle import AsyncDailyLog
from sapwood.model import SessionKey

from ..dying import DiedError

Sessions = sapwood.AsyncSessionManager


async def test_the_first_reason_wins(sessions: Sessions) -> None:
    await sessions.session("chat")
    assert (await sessions.end("chat", "abandoned")).end_reason == "abandoned"
    record = await sessions.end("chat", "completed")
    assert (record.end_reason, record.system.reason) == ("abandoned", "abandoned")


async def test_a_hook_is_told_what_ended_and_reads_the_history(
    sessions: Sessions, key: SessionKey
) -> None:
    told: list[Any] = []
    sessions.with_hook(told.append, name="tell")
    chat = await sessions.get_or_create(key, tags=["work"])
    await chat.append("user", "hello")
    await sessions.new(key)
    [event] = told
    assert (event.owner, event.session, event.reason) == ("ada", chat.id, "new")
    assert (event.key, event.life, event.generation, event.tags) == (key, 0, 2, ["work"])
    assert [it.text for it in (await event.history()).messages_only] == ["hello"]


async def test_hooks_are_called_in_order_after_the_session_is_closed(sessions: Sessions) -> None:
    told: list[str] = []
    stored = sessions.store

    async def first(event: Any) -> None:
        record = await stored.find_session("ada", event.session)
        told.append(f"first {record.state if record else None}")

    sessions.with_hook(first, name="first").with_hook(lambda e: told.append("second"), name="2")
    await sessions.session("chat")
    assert (await sessions.end("chat")).state == "ended"
    assert told == ["first ending", "second"]


async def test_a_hook_that_fails_harms_no_other_is_told_and_tried_again(
    sessions: Sessions,
) -> None:
    told: list[str] = []
    fails = True

    def broken(event: Any) -> None:
        told.append("broken")
        if fails:
            raise ValueError("no disk")

    sessions.with_hook(broken, name="broken").with_hook(lambda e: told.append("good"), name="good")
    await sessions.session("chat")
    assert (await sessions.end("chat")).state == "ending"
    [problem] = await sessions.lifecycle_problems()
    assert (problem.hook, problem.session, problem.attempts) == ("broken", "chat", 1)
    assert problem.error == "ValueError: no disk"
    assert problem.next_us > problem.failed_us
    # It is not its time yet.
    assert (await sessions.end("chat")).state == "ending"
    assert told == ["broken", "good"]
    fails = False
    assert (await sessions.reopen("chat")).id == "chat"
    assert told == ["broken", "good", "broken"]
    assert await sessions.lifecycle_problems() == []


async def test_a_hook_that_hangs_is_left_after_its_time(sessions: Sessions) -> None:
    def hangs(event: Any) -> None:
        threading.Event().wait(5)

    sessions.with_hook(hangs, name="hangs", timeout_s=0.05)
    await sessions.session("chat")
    assert (await sessions.end("chat")).state == "ending"
    [problem] = await sessions.lifecycle_problems()
    assert "TimeoutError" in problem.error


async def test_a_process_that_dies_in_a_hook_leaves_the_session_ending(url: str) -> None:
    told: list[str] = []
    is_dead = True

    def dies(event: Any) -> None:
        if is_dead:
            raise DiedError
        told.append("second")

    async with sapwood.open_async(url, owner="ada") as sessions:
        sessions.with_hook(lambda e: told.append("first"), name="first")
        sessions.with_hook(dies, name="second")
        await sessions.session("chat")
        with pytest.raises(DiedError):
            await sessions.end("chat")
        assert (await (await sessions.get("chat")).record()).state == "ending"
        is_dead = False
        await sessions.store.delete_documents("ada", "hooks-lease/", session="chat")
        assert (await sessions.recover()).finished == ("chat",)
        assert told == ["first", "second"]


async def test_opening_again_finishes_the_ending_first(sessions: Sessions, key: SessionKey) -> None:
    told: list[int] = []
    fails = True

    def note(event: Any) -> None:
        told.append(event.life)
        if fails:
            raise ValueError

    sessions.with_hook(note, name="note")
    chat = await sessions.get_or_create(key)
    await sessions.end(chat.id)
    fails = False
    await sessions.resume(key, chat.id)
    assert told == [0, 0]
    await sessions.end(chat.id)
    assert told == [0, 0, 1]


async def test_hooks_are_told_of_starts_and_switches(sessions: Sessions, key: SessionKey) -> None:
    told: list[Any] = []
    sessions.with_hook(told.append, on="start", name="note")
    sessions.with_hook(told.append, on="switch", name="note")
    first = await sessions.get_or_create(key)
    second = await sessions.new(key)
    await sessions.resume(key, first.id)
    seen = [(it.occasion, it.session, it.previous, it.reason) for it in told]
    assert seen == [
        ("start", first.id, None, None),
        ("start", second.id, first.id, "new"),
        ("switch", second.id, first.id, "new"),
        ("switch", first.id, second.id, "switch"),
    ]


async def test_hooks_are_told_of_compactions_and_at_the_latest_before_the_end(
    sessions: Sessions,
) -> None:
    told: list[Any] = []
    chat = await sessions.session("chat")
    await chat.append("user", "hello")
    await chat.append("assistant", "hi")
    metadata = {"compaction": {"strategy": "given", "trigger": "manual"}}
    # Its process died before the hook was called.
    first, last = (await chat.history()).entries
    await chat.add_overlay(first, last, "They said hello.", metadata=metadata)
    sessions.with_hook(told.append, on="compaction", name="note")
    sessions.with_hook(told.append, on="end", name="note")
    await sessions.end("chat")
    assert [it.occasion for it in told] == ["compaction", "end"]
    assert told[0].overlay.summary == "They said hello."


async def test_a_deletion_runs_its_hooks_before_the_rows_go(sessions: Sessions) -> None:
    told: list[str] = []

    async def read(event: Any) -> None:
        told.extend(it.text for it in (await event.history()).messages_only)

    sessions.with_hook(read, name="read")
    chat = await sessions.session("chat")
    await chat.append("user", "hello")
    assert await sessions.delete("chat")
    assert told == ["hello"]
    with pytest.raises(NotFoundError):
        await sessions.get("chat")
    with pytest.raises(NotFoundError):
        await sessions.delete("chat")


async def test_a_deletion_waits_for_a_hook_that_fails(sessions: Sessions) -> None:
    fails = True

    def broken(event: Any) -> None:
        if fails:
            raise ValueError

    sessions.with_hook(broken, name="broken")
    await sessions.session("chat")
    assert not await sessions.delete("chat")
    with pytest.raises(NotFoundError, match="being deleted"):
        await sessions.reopen("chat")
    fails = False
    with pytest.raises(NotFoundError, match="being deleted"):
        await sessions.reopen("chat")
    assert await sessions.find("chat") is None


async def test_a_deletion_holds_to_the_version_that_was_seen(sessions: Sessions) -> None:
    chat = await sessions.session("chat")
    version = (await chat.record()).version
    await chat.update_record(model="small")
    with pytest.raises(StaleVersionError):
        await sessions.delete("chat", expected_version=version)
    assert await sessions.find("chat") is not None


async def test_archived_is_what_was_ended_for_it_or_has_ended(sessions: Sessions) -> None:
    await sessions.session("a")
    assert (await sessions.archive("a")).state == "archived"
    await sessions.session("b")
    await sessions.end("b")
    record = await sessions.archive("b")
    assert (record.state, record.end_reason) == ("archived", "completed")


async def test_a_suspended_session_goes_on_when_it_is_resumed(
    sessions: Sessions, key: SessionKey
) -> None:
    chat = await sessions.get_or_create(key)
    assert (await sessions.suspend(chat.id)).state == "suspended"
    await sessions.resume(key, chat.id)
    record = await chat.record()
    assert (record.state, record.system.life) == ("active", 0)
    await sessions.end(chat.id)
    with pytest.raises(IllegalStateError, match="active"):
        await sessions.suspend(chat.id)


async def test_two_hooks_of_one_name_are_refused(sessions: Sessions) -> None:
    sessions.with_hook(print, name="note")
    with pytest.raises(UsageError, match="two hooks"):
        sessions.with_hook(repr, name="note")


async def test_info_shows_idle_compacting_and_how_full_it_is(sessions: Sessions) -> None:
    chat = await sessions.session("chat", budget=1_000)
    await chat.append("user", "word " * 100)
    info = await sessions.info("chat")
    assert info.state == "active"
    assert info.budget == 1_000
    assert info.ratio == (await chat.record()).context_tokens / 1_000
    await chat.update_record(active_us=1)
    assert (await sessions.info("chat")).state == "idle"
    await sessions.store.put_document(
        "ada", "compaction", b"", session="chat", expires_in_s=60, inherit=False
    )
    assert (await sessions.info("chat")).state == "compacting"
    await sessions.suspend("chat")
    assert (await sessions.info("chat")).state == "suspended"


async def test_the_daily_log_has_one_entry_cut_between_characters(
    sessions: Sessions, tmp_path: Path
) -> None:
    log = AsyncDailyLog(tmp_path / "daily")
    sessions.with_hook(log, name="daily-log")
    chat = await sessions.session("chat", title="Züge")
    await chat.append("user", "é" * 500)
    await chat.append("assistant", "Ja.")
    await sessions.session("short")
    await sessions.end("short")
    assert not (tmp_path / "daily").exists()
    await chat.append("user", "Danke.")
    await sessions.end("chat")
    [path] = (tmp_path / "daily").iterdir()
    text = path.read_text("utf-8")
    assert text.count("- Session: `chat`, life 0\n") == 1
    assert "é" * 199 + "…\n" in text
    assert "- Answered: Ja.\n" in text
    event: Any = None

    def keep(given: Any) -> None:
        nonlocal event
        event = given

    sessions.with_hook(keep, name="keep")
    await sessions.reopen("chat")
    await sessions.end("chat")
    await log(event)
    assert path.read_text("utf-8").count("life 1\n") == 1


async def test_a_turn_that_dies_for_the_third_time_suspends_its_session(
    sessions: Sessions,
) -> None:
    chat = await sessions.session("chat")
    turn = chat.turn()
    await turn.__aenter__()
    await turn.append("user", "crash me", id="m1")
    for deaths in (1, 2, 3):
        # Its process is gone, and its lease is over.
        await turn._lease.end()
        await sessions.store.delete_document("ada", "turn", session="chat")
        report = await sessions.recover()
        assert report.interrupted == ("chat",)
        assert report.suspended == (("chat",) if deaths == 3 else ())
        if deaths < 3:
            turn = chat.turn(resume="m1")
            await turn.__aenter__()
    assert (await chat.record()).state == "suspended"


async def test_a_turn_that_is_at_work_is_left_alone(sessions: Sessions) -> None:
    chat = await sessions.session("chat")
    async with chat.turn() as turn:
        await turn.append("user", "hello")
        assert (await sessions.recover()).interrupted == ()
        await turn.complete("assistant", "hi")
