"""What a notebook shows of sessions, histories, model inputs and listings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import pytest

import sapwood
from sapwood.model import Read
from sapwood.session import SessionManager

EVIL = '<script>alert(1)</script> & "quoted" \'\x1b[2J\x00'


@pytest.fixture
def sessions() -> Iterator[SessionManager]:
    with sapwood.open("memory://", owner="<ada>") as opened:
        yield opened


class Outline(HTMLParser):
    """Reads HTML strictly: what is opened is closed, and in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.lines: list[tuple[int, str]] = []
        self.attributes: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        self.attributes += [name for name, _ in attrs]
        self.open.append(tag)
        if tag in ("div", "tr", "details"):
            self.lines.append((self.open.count("div"), ""))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        depth, text = self.lines[-1]
        self.lines[-1] = (depth, text + data)


def shown(value: Any) -> Outline:
    html = value._repr_html_()
    outline = Outline(html)
    # Nothing runs, and nothing has a colour that only suits one background.
    assert not {"script", "style", "iframe", "img", "a"} & outline.tags
    assert set(outline.attributes) <= {"style"}
    assert not re.search(r"(?<![-\w])(color|background):(?!inherit|none)", html)
    assert not re.search("[\x00-\x08\x0e-\x1f]", html)
    return outline


def test_a_session_is_shown_as_its_tree(sessions: SessionManager) -> None:
    chat = sessions.session("support", title="Parcels")
    chat.append("user", "Where is it?", id="m1")
    chat.append("assistant", "On its way.", id="m2")
    chat.append("user", "Since when?", id="m3")
    chat.append("user", "Which one?", id="x3", parent="m2")
    chat.append("assistant", "The red one.", id="x4")
    chat.append("user", "Another beginning.", id="y1", parent=sapwood.ROOT)
    chat.checkout("x4")
    lines = shown(chat).lines
    assert lines[1][1].startswith("Parcels support · of <ada> · 6 messages")
    assert [(depth, text) for depth, text in lines[2:] if text] == [
        (3, "user Another beginning. y1"),
        (2, "user Where is it? m1"),
        (2, "assistant On its way. m2"),
        (3, "user Since when? m3"),
        (2, "user Which one? x3"),
        (2, "assistant The red one. x4 · ◀ tip"),
    ]


def test_deleted_messages_and_forks_leave_the_tree_whole(sessions: SessionManager) -> None:
    chat = sessions.session("support")
    chat.append_all([("user", f"number {n}") for n in range(6)])
    ids = [it.id for it in chat.history().messages_only]
    fork = chat.fork("second", ids[3])
    fork.append("user", "there")
    chat.delete(ids[1:3])
    texts = [text.split(" ")[2] for _, text in shown(chat).lines[2:]]
    assert texts == ["0", "3", "4", "5"]
    lines = [text for _, text in shown(fork).lines]
    assert "branch of support at depth 4" in lines[1]
    assert len(lines[2:]) == 3


def test_a_long_session_costs_a_page(
    sessions: SessionManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = sessions.session("long")
    chat.append_all([("user", f"number {n}") for n in range(500)])
    read: list[int] = []
    for name in ("read", "list_messages"):
        real = getattr(sessions.store, name)

        def counting(*args: Any, real: Any = real, **options: Any) -> Any:
            limit = options.get("limit") or next(it for it in args if isinstance(it, Read)).limit
            read.append(limit)
            return real(*args, **options)

        monkeypatch.setattr(sessions.store, name, counting)
    lines = shown(chat).lines
    assert sum(read) <= 80
    assert "number 499" in lines[-1][1]
    assert "the end of what the model is shown" in lines[2][1]
    assert len(chat._repr_html_()) < 10_000


def test_large_messages_are_not_all_read(
    sessions: SessionManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = sessions.session("large")
    chat.append_all([("user", "x" * 100_000)] * 50)
    limits: list[int] = []
    real = sessions.store.list_messages

    def counting(*args: Any, limit: int, **options: Any) -> Any:
        limits.append(limit)
        return real(*args, limit=limit, **options)

    monkeypatch.setattr(sessions.store, "list_messages", counting)
    assert len(chat._repr_html_()) < 5_000
    assert limits == [8]


def test_what_somebody_said_is_no_html(sessions: SessionManager) -> None:
    chat = sessions.session("<b>", title=EVIL)
    chat.append("user", EVIL, name="<i>")
    call = sapwood.ToolCallPart(call_id="c", name=EVIL, input={"a": EVIL})
    chat.append("assistant", [call, sapwood.ReasoningPart(text=EVIL)])
    chat.append("tool", [sapwood.ToolResultPart(call_id="c", output=EVIL)])
    chat.append("user", [sapwood.FilePart(media_type="<b>/x", data=b"x", name=EVIL)])
    chat.add_overlay(*[it.id for it in chat.history().messages_only][:1] * 2, EVIL)
    chat.with_context("memory", default=EVIL)
    views = (chat, chat.history(), chat.prepare(), sessions.list_sessions(previews=True))
    for view in views:
        outline = shown(view)
        assert any("alert(1)" in text for _, text in outline.lines)


def test_a_history_shows_summaries_and_leaves_out_the_middle(sessions: SessionManager) -> None:
    chat = sessions.session("long")
    chat.append_all([("user", f"number {n}") for n in range(100)])
    ids = [it.id for it in chat.history().messages_only]
    chat.add_overlay(ids[0], ids[1], "It began.")
    lines = [text for _, text in shown(chat.history()).lines]
    assert lines[1].startswith("History 99 entries")
    assert lines[2].startswith("summary It began.")
    assert "⋮ 59 more" in lines
    assert "number 99" in lines[-1]


def test_a_model_input_shows_its_budget_prompt_and_tools(sessions: SessionManager) -> None:
    chat = sessions.session("support").with_context("memory", description="d", max_tokens=100)
    chat.append("user", "Where is it?")
    given = chat.prepare(budget=5_000)
    lines = [text for _, text in shown(given).lines]
    assert re.match(r"Model input \S+ of 5,000 tokens · 1 message$", lines[1])
    assert lines[2].startswith("prompt, ")
    assert given.prompt.split()[0] in lines[2]
    assert any(text.startswith("tools ") for text in lines)
    assert lines[-1].startswith("user Where is it?")


def test_a_listing_is_a_table(sessions: SessionManager) -> None:
    sessions.session("support", title="Parcels").append("user", "Where is it?")
    sessions.session("other")
    lines = [text for _, text in shown(sessions.list_sessions(previews=True)).lines]
    assert lines[1] == "Sessions 2 sessions"
    assert sum("supportParcels1" in text and "user: Where is it?" in text for text in lines) == 1
    assert shown(sessions.list_sessions(tags=["none"])).lines[-1][1] == "none"


def test_a_session_that_is_not_stored_says_so(sessions: SessionManager) -> None:
    chat = sessions.session("gone", lazy=True)
    assert "its first write creates it" in chat._repr_html_()
    chat.append("user", "Hello")
    sessions.delete("gone")
    assert "it was deleted" in chat._repr_html_()


async def test_the_async_twin_asks_nothing() -> None:
    async with sapwood.open_async("memory://") as sessions:
        chat = await sessions.session("support")
        await chat.append("user", "Hello")
        text = " ".join(text for _, text in shown(chat).lines)
        assert "support" in text
        assert "await" in text
        assert "Hello" not in text
        assert "Hello" in (await chat.history())._repr_html_()
