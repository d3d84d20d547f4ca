"""The service of the examples, as a real process: its users, its side bar, and its answers."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import sapwood

from .blocks import ROOT
from .site import Site

WORDS = 5
SLOW_S = 0.3


def body(id: str, text: str = "") -> dict[str, str]:
    return {"id": id, "text": text or id}


def whole(asked: str) -> str:
    return "".join(f"{asked}/{n} " for n in range(WORDS))


@pytest.fixture
async def site(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Site]:
    site = Site(tmp_path, WORDS, getattr(request, "param", 0.01))
    site.start()
    try:
        await site.is_up()
        yield site
    finally:
        assert "Traceback" not in site.end(signal.SIGTERM)


slowly = pytest.mark.parametrize("site", [SLOW_S], indirect=True)


async def say(site: Site, user: str, chat: str, id: str, text: str = "") -> list[Any]:
    asked = site.events(user, f"/sessions/{chat}/messages", body(id, text))
    return [event async for event in asked]


async def messages(site: Site, user: str, chat: str) -> list[tuple[str, str]]:
    found = await site.get(user, f"/sessions/{chat}/messages")
    return [(it["text"], it["state"]) for it in found]


async def test_an_answer_is_streamed_and_stored_and_each_user_has_sessions_of_their_own(
    site: Site,
) -> None:
    told = await say(site, "ada", "s1", "m1")
    assert "".join(it["text"] for it in told if it["type"] == "text") == whole("m1")
    assert told[-1]["type"] == "done"
    assert await messages(site, "ada", "s1") == [("m1", "open"), (whole("m1"), "complete")]
    await say(site, "bob", "s1", "m1", "mine")
    assert (await messages(site, "bob", "s1"))[0][0] == "mine"
    assert len(await messages(site, "ada", "s1")) == 2


async def test_the_side_bar_tells_the_title_the_last_words_when_and_what_is_unread(
    site: Site,
) -> None:
    await say(site, "ada", "s1", "m1", "Where is it?")
    [row] = await site.get("ada", "/sessions")
    assert row == {
        "id": "s1",
        "title": "Where is it?",
        "preview": whole("Where is it?").strip(),
        "when": "now",
        "unread": 0,
    }


async def test_what_nobody_was_there_to_see_is_unread_until_it_is_loaded(site: Site) -> None:
    async with site.asked("ada", "/sessions/s1/messages", body("m1")):
        pass
    row = {"unread": None}
    async with asyncio.timeout(30):
        while row["unread"] != 2:
            [row] = await site.get("ada", "/sessions") or [row]
    await messages(site, "ada", "s1")
    [row] = await site.get("ada", "/sessions")
    assert row["unread"] == 0


async def test_a_question_that_is_refused_is_told_so(site: Site) -> None:
    [told] = await say(site, "ada", "s1", "")
    assert (told["type"], told["code"]) == ("error", "usage")
    assert await site.get("ada", "/sessions") == []


async def test_a_message_sent_twice_is_answered_once(site: Site) -> None:
    first, second = await asyncio.gather(*(say(site, "ada", "s1", "m1") for _ in range(2)))
    for told in (first, second):
        assert "".join(it["text"] for it in told if it["type"] == "text") == whole("m1")
    assert len(await messages(site, "ada", "s1")) == 2
    [told] = await say(site, "ada", "s1", "m1", "other words")
    assert (told["type"], told["code"]) == ("error", "message_conflict")


@slowly
async def test_an_answer_goes_on_when_its_browser_is_gone_and_is_followed_by_another(
    site: Site,
) -> None:
    asked = site.events("ada", "/sessions/s1/messages", body("m1"))
    async with aclosing(asked):
        async for _ in asked:
            break
    async with asyncio.timeout(30):
        found: list[Any] = []
        while len(found) < 2:
            found = await site.get("ada", "/sessions/s1/messages")
    assert found[1]["state"] == "partial"
    followed = site.events("ada", f"/sessions/s1/messages/{found[1]['id']}/events")
    assert "".join([event["text"] async for event in followed]) == whole("m1")
    assert await messages(site, "ada", "s1") == [("m1", "open"), (whole("m1"), "complete")]


@slowly
async def test_a_stop_cuts_an_answer_off(site: Site) -> None:
    told = []
    async for event in site.events("ada", "/sessions/s1/messages", body("m1")):
        told.append(event)
        if len(told) == 1:
            assert await site.get("ada", "/sessions/s1/stop", "POST")
    assert (told[-1]["type"], told[-1]["code"]) == ("error", "turn_stopped")
    [_, (text, state)] = await messages(site, "ada", "s1")
    assert whole("m1").startswith(text)
    assert state == "interrupted"
    assert not await site.get("ada", "/sessions/s1/stop", "POST")


async def test_a_shutdown_cuts_what_is_being_answered(tmp_path: Path) -> None:
    site = Site(tmp_path, words=100, pause_s=0.2)
    site.start()
    try:
        await site.is_up()
        asked = site.events("ada", "/sessions/s1/messages", body("m1"))
        await anext(asked)
    finally:
        site.end(signal.SIGTERM)
    await asked.aclose()
    async with sapwood.open_async(f"sqlite:///{tmp_path}/service.db", owner="ada") as sessions:
        chat = await sessions.get("s1")
        question, answer = (await chat.history()).messages_only
        assert answer.text.startswith("m1/0 ")
        assert answer.extra["turn"]["state"] == "interrupted"
        record = await chat.find_turn(question)
        assert record is not None
        assert (record.state, record.reason) == ("interrupted", "CancelledError")


async def test_what_is_not_there_is_not_found(site: Site) -> None:
    async with site.asked("ada", "/sessions/none/messages") as (status, _):
        assert status == 404
    async with site.asked("ada", "/sessions/s1/messages", {"id": "m1"}) as (status, _):
        assert status == 422


def test_times_are_told_from_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "examples")
    import service

    now = datetime(2026, 1, 8, tzinfo=UTC)
    gone = [timedelta(seconds=59), timedelta(minutes=5), timedelta(hours=25), timedelta(seconds=-5)]
    assert [service.ago(now - it, now) for it in gone] == ["now", "5 min ago", "1 d ago", "now"]


class Page(HTMLParser):
    """What a page loads from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.loads += [value or "" for name, value in attrs if name in ("src", "href")]


def test_the_page_is_one_file_that_loads_nothing_else() -> None:
    text = (ROOT / "examples" / "service.html").read_text()
    page = Page()
    page.feed(text)
    assert page.loads == []
    assert "innerHTML" not in text
