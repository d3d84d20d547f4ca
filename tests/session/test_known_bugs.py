"""The bugs of those who came before us, at the level of a session: each shows that ours is without.

The number in a docstring is that of the reference's list. Those with tests of their own elsewhere
(`tests/compaction/test_known_bugs.py`, the store contract) are not repeated.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

import sapwood
from sapwood import (
    ROOT,
    FilePart,
    NewMessage,
    ReasoningPart,
    Session,
    SessionManager,
    Summary,
    ToolCallPart,
    ToolResultPart,
)
from sapwood.compaction import create_compact_function, is_valid_input
from sapwood.errors import (
    CompactionError,
    MessageConflictError,
    NotFoundError,
    SapwoodError,
    UsageError,
)
from sapwood.model import AppendEvent, CompactEvent, Event

LONG = "a long story about the harbour " * 20


@pytest.fixture(params=["memory", "sqlite"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return "memory://" if request.param == "memory" else f"sqlite:///{tmp_path}/sessions.db"


@pytest.fixture
def sessions(url: str) -> Iterator[SessionManager]:
    with sapwood.open(url, owner="ada") as manager:
        yield manager


@pytest.fixture
def chat(sessions: SessionManager) -> Session:
    return sessions.session("chat")


def tight(summarize: Any) -> Any:
    return create_compact_function(
        summarize, protect_head=1, tail_token_budget=0, min_tail_messages=2
    )


def texts(chat: Session, **query: Any) -> list[str]:
    return [entry.text for entry in chat.history(**query).entries]


class Skills:
    def __init__(self, catalogue: str = "- sail: how to sail") -> None:
        self.catalogue = catalogue

    def get(self) -> str:
        return self.catalogue

    def load(self, key: str) -> str | None:
        return "First, find a boat." if key == "sail" else None


# The first version and its review.


def test_an_overlay_may_be_the_first_thing_that_is_asked_of_a_store(chat: Session) -> None:
    """#1166: addCompaction failed before the tables were there."""
    with pytest.raises(NotFoundError):
        chat.add_overlay("a", "b", "nothing to cover")
    assert chat.overlays() == []


def test_a_path_is_never_measured_in_another_session(
    sessions: SessionManager, chat: Session
) -> None:
    """#1166: the path length's leaf was not checked for its session."""
    foreign = sessions.session("other").append("user", "hello")
    for leaf in (foreign.id, "nobody"):
        with pytest.raises(NotFoundError):
            chat.path_length(leaf)
        with pytest.raises(NotFoundError):
            chat.history(leaf)


def test_what_others_append_does_not_hide_the_tip(chat: Session) -> None:
    """#1166: the look for childless messages found children of other sessions."""
    last = chat.append("user", "hello")
    chat.fork("fork").append("user", "further")
    assert chat.tip() == last.id
    assert [leaf.message for leaf in chat.branches()] == [last]


def test_whether_it_is_full_is_asked_of_what_is_shown(chat: Session) -> None:
    """#1166: needsCompaction counted the rows under the overlays, too."""
    chat.compact_with(tight(lambda prompt: "short")).append_all([("user", LONG)] * 12)
    chat.compact_after(700)
    assert chat.needs_compaction()
    chat.compact()
    assert not chat.needs_compaction()


def test_a_compaction_changes_no_count_of_messages(chat: Session) -> None:
    """#1166, #1628: synthetic entries counted as removed; progress seemed to go backwards."""
    chat.append_all([("user", LONG)] * 8)
    before = (chat.record().messages, chat.path_length(), chat.tip())
    chat.compact_with(tight(lambda prompt: "short")).compact()
    assert (chat.record().messages, chat.path_length(), chat.tip()) == before


def test_the_clients_ids_stay_from_end_to_end(chat: Session) -> None:
    """#1166: the ids of user messages differed between client and server."""
    chat.append("user", "hello", id="client-1")
    chat.append_all([NewMessage(id="client-2", role="assistant", parts=[])])
    assert [message.id for message in chat.history().messages_only] == ["client-1", "client-2"]
    assert chat.prepare().messages[0].id == "client-1"
    assert chat.search("hello").hits[0].entry.id == "client-1"


# The redesign of compaction.


def test_times_are_stored_and_do_not_move(chat: Session) -> None:
    """#1210: createdAt was always empty; a summary's was the time of reading."""
    chat.append_all([("user", LONG)] * 8)
    chat.compact_with(tight(lambda prompt: "short")).compact()
    first, again = chat.history().entries, chat.history().entries
    assert first == again
    times = [e.overlay.created_us if isinstance(e, Summary) else e.created_us for e in first]
    assert all(time > 1_000_000_000_000_000 for time in times)


def test_a_parent_in_another_session_is_refused(sessions: SessionManager, chat: Session) -> None:
    """#1210: a foreign or unknown parent was accepted, or made a new root without a word."""
    chat.append("user", "hello")
    foreign = sessions.session("other").append("user", "elsewhere")
    for parent in (foreign, foreign.id, "nobody"):
        with pytest.raises(NotFoundError):
            chat.append("user", "lost", parent=parent)
    assert texts(chat) == ["hello"]


def test_a_compaction_says_what_it_covers(chat: Session) -> None:
    """#1210, L6: compact() returned another beginning than it stored, or replaced it."""
    messages = chat.append_all([("user", LONG)] * 8)
    chat.add_overlay(messages[3], messages[4], "by hand " * 10)
    outcome = chat.compact_with(tight(lambda prompt: "short")).compact()
    assert outcome.overlay is not None
    assert (outcome.overlay.first.depth, outcome.overlay.last.depth) == (2, 6)
    assert chat.overlays()[-1] == outcome.overlay


def test_a_failure_is_told_once_on_each_way(sessions: SessionManager) -> None:
    """#1210, L5: an error was broadcast and thrown, or the handler was never called."""
    heard: list[Event] = []
    errors: list[Exception] = []

    def fail(prompt: str) -> str:
        raise OSError("no model")

    sessions.on_event(heard.append).compact_with(tight(fail)).on_compaction_error(errors.append)
    chat = sessions.session("chat")
    chat.append_all([("user", LONG)] * 8)
    with pytest.raises(CompactionError):
        chat.compact()
    assert errors == []
    chat.compact_after(2_000).append_all([("user", LONG)] * 20)
    assert [type(error) for error in errors] == [CompactionError]
    phases = [event.phase for event in heard if isinstance(event, CompactEvent)]
    assert phases == ["started", "failed"] * 2


# The manager, skills and search.


@pytest.mark.parametrize("query", ['"', "boat AND", "NEAR(", "a* OR", "'; DROP TABLE x", "col:x"])
def test_no_query_breaks_the_search(sessions: SessionManager, chat: Session, query: str) -> None:
    """#1242: the syntax of the index came through in the manager's search."""
    chat.append("user", "the boat")
    try:
        sessions.search(query)
        chat.search(query)
    except UsageError:
        assert query == '"'


def test_words_need_not_stand_side_by_side(sessions: SessionManager, chat: Session) -> None:
    """#1242, #1245, L15: several words were searched as one phrase."""
    chat.append("user", "The deployment is planned for Friday.")
    assert len(chat.search("deployment Friday").hits) == 1
    assert len(sessions.search("Friday deployment").hits) == 1


def test_appends_at_once_compact_one_at_a_time(sessions: SessionManager) -> None:
    """#1242, L6: two appends at once ran two compactions and stored two overlays."""
    sessions.compact_with(tight(lambda prompt: "short")).compact_after(400)
    sessions.session("chat")

    def write(number: int) -> None:
        chat = sessions.get("chat")
        for n in range(12):
            chat.append("user", LONG, id=f"{number}.{n}")

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    chat = sessions.get("chat")
    assert len(chat.history(overlays=False).entries) == 48
    ranges = [(it.first.depth, it.last.depth) for it in chat.overlays()]
    assert len(set(ranges)) == len(ranges) > 1
    for a, b in combinations(sorted(ranges), 2):
        assert b[0] > a[1] or b[1] <= a[1] or b[0] <= a[0]


# Both kinds of no parent, blocks and tools.


def test_no_parent_is_the_tip_and_the_root_is_the_root(chat: Session) -> None:
    """#1297, L1: null and undefined were one; appendAll without a parent began a new root."""
    chat.append("user", "one")
    chat.append("user", "two", parent=None)
    chat.append_all([("user", "three"), ("user", "four")])
    assert texts(chat) == ["one", "two", "three", "four"]
    chat.append("user", "anew", parent=ROOT)
    assert texts(chat) == ["anew"]


def test_an_update_of_nothing_writes_nothing(sessions: SessionManager, chat: Session) -> None:
    """#1297, L2: the update of an unknown message left a phantom that search found."""
    heard: list[Event] = []
    chat.on_event(heard.append)
    with pytest.raises(NotFoundError):
        chat.update("nobody", "phantom")
    assert heard == []
    assert sessions.search("phantom").hits == []
    assert chat.record().messages == 0


def test_a_block_that_can_be_written_or_loaded_is_shown_though_empty(
    sessions: SessionManager,
) -> None:
    """#1297: the model did not know of empty skill blocks."""
    sessions.with_context("memory").with_context("skills", provider=Skills(""))
    prompt = sessions.session("chat").system_prompt()
    assert "MEMORY" in prompt
    assert "SKILLS" in prompt


# Estimates.


def test_everything_that_the_model_is_given_is_counted(sessions: SessionManager) -> None:
    """#1538, L17: the estimate left out prompt, blocks, tools, reasoning and media."""
    chat = sessions.session("chat")
    counts = [chat.context_tokens()]
    image = FilePart(media_type="image/png", data=b"hello" * 100)
    for content in (ReasoningPart(text="well " * 50), image):
        chat.append("assistant", content)
        counts.append(chat.context_tokens())
    again = sessions.session("chat")
    again.with_context("soul", default="Be brief. " * 50, readonly=True)
    assert counts[0] == 0
    assert counts[1] >= 50
    assert counts[2] > counts[1]
    assert again.context_tokens() > counts[2] + 50


def test_a_counter_of_ones_own_decides_both_when_and_what(url: str) -> None:
    """#1593: by the estimate all was tail, so that it fired each turn and never shortened."""
    calls: list[str] = []

    def summarize(prompt: str) -> str:
        calls.append(prompt)
        return "short"

    with sapwood.open(
        url,
        token_counter=lambda role, parts: 500 if role != "summary" else 5,
        compact_with=create_compact_function(summarize, tail_token_budget=2_000),
        compact_after=6_000,
    ) as sessions:
        chat = sessions.session("chat")
        for n in range(40):
            chat.append("user", f"{n}")
        assert 2 < len(calls) < 10
        assert chat.context_tokens() <= 6_000


# Branches, and what hosts got wrong.


def test_a_compaction_of_one_branch_hides_nothing_on_another(chat: Session) -> None:
    """#2120: an overlay of a sibling hid the valid one."""
    trunk = chat.append_all([("user", LONG)] * 4)
    left = chat.append_all([("user", f"left {n}") for n in range(3)])
    right = chat.append_all([("user", f"right {n}") for n in range(3)], parent=trunk[-1])
    chat.add_overlay(trunk[0], left[0], "left", history=chat.history(left[-1]))
    chat.add_overlay(trunk[0], right[1], "right")
    assert texts(chat) == ["right", "right 2"]
    assert texts(chat, leaf=left[-1]) == ["left", "left 1", "left 2"]
    assert len(texts(chat, leaf=trunk[-1])) == 4


def test_a_clients_copy_of_a_message_is_no_second_one(chat: Session) -> None:
    """#1381: a client's snapshot was stored as a second message with the same call."""
    call = ToolCallPart(call_id="c", name="sail", input={})
    chat.append("assistant", call, id="a1")
    answered = [call, ToolResultPart(call_id="c", output="at sea")]
    with pytest.raises(MessageConflictError):
        chat.append("assistant", answered, id="a1")
    chat.upsert("assistant", answered, id="a1")
    assert [message.id for message in chat.history().messages_only] == ["a1"]
    # Under another id it is stored, but a model is given each call with one result.
    chat.append("assistant", answered, id="a2")
    given = chat.prepare()
    assert is_valid_input(given.messages)


def test_blocks_do_not_drive_out_what_the_system_says(sessions: SessionManager) -> None:
    """#1871: the system prompt was dropped as soon as there was a block."""
    sessions.with_context("memory", default="likes tea")
    chat = sessions.session("chat")
    chat.append("system", "Be brief.")
    given = chat.prepare()
    assert "likes tea" in given.prompt
    assert [(m.role, m.text) for m in given.messages] == [("system", "Be brief.")]


def test_what_one_object_wrote_another_sees_at_once(sessions: SessionManager) -> None:
    """#2132: a stale cache hid the final reply."""
    reader, writer = sessions.session("chat"), sessions.session("chat")
    for n in range(5):
        writer.append("assistant", f"reply {n}")
        assert texts(reader)[-1] == reader.prepare().messages[-1].text == f"reply {n}"
        assert reader.tip() == writer.tip()


def test_a_listener_is_told_of_what_is_stored(tmp_path: Path) -> None:
    """#2119: "done" was sent before the message was stored."""
    url = f"sqlite:///{tmp_path}/s.db"
    found: list[object] = []

    def look(event: Event) -> None:
        if isinstance(event, AppendEvent):
            with sapwood.open(url, owner="ada") as others:
                found.append(others.get("chat").find(event.messages[0].id))

    with sapwood.open(url, owner="ada", listeners=[look]) as sessions:
        message = sessions.session("chat").append("user", "hello")
    assert found == [message]


def test_a_summary_that_a_client_sends_back_is_no_message(chat: Session) -> None:
    """#1984, L14: a client echoed the synthetic message, which became a row and a parent."""
    messages = chat.append_all([("user", LONG)] * 8)
    chat.compact_with(tight(lambda prompt: "short")).compact()
    summary = next(entry for entry in chat.history().entries if isinstance(entry, Summary))
    before = chat.history().entries
    for wrong in (
        lambda: chat.append(summary),  # type: ignore[arg-type]
        lambda: chat.append_all([summary]),  # type: ignore[list-item]
        lambda: chat.append("user", "after it", parent=summary.overlay.id),
        lambda: chat.add_overlay(messages[0], summary.overlay.id, "over it"),
        lambda: chat.checkout(summary.overlay.id),
    ):
        with pytest.raises((SapwoodError, TypeError)):
            wrong()
    assert chat.history().entries == before
    # An id that looks like one is an id like any other.
    chat.append("assistant", "echo", id=f"compaction_{summary.overlay.id}")
    assert texts(chat).count("short") == 1


def test_another_answer_is_made_without_the_old_one(chat: Session) -> None:
    """#2038, #2121, #2122: regeneration and repair looked at the wrong branch."""
    asked = chat.append("user", "Which way?")
    chat.append("assistant", ToolCallPart(call_id="c", name="look", input={}))
    old = chat.append("assistant", "Left.")
    chat.append("user", "Thanks.")
    assert chat.retry_from(old) == asked
    assert [message.text for message in chat.prepare().messages] == ["Which way?"]
    new = chat.append("assistant", "Right.")
    assert [message.text for message in chat.prepare(leaf=new).messages] == ["Which way?", "Right."]
    # The call without a result is mended on its own branch, and there alone.
    assert len(chat.prepare(leaf=old).messages) == 4
    assert is_valid_input(chat.prepare(leaf=old).messages)


# Latent defects.


def test_a_skill_loaded_and_unloaded_in_one_turn_takes_no_room(sessions: SessionManager) -> None:
    """L10: what was stored after the unload stayed in the context for good."""
    sessions.with_context("skills", provider=Skills())
    chat = sessions.session("chat")
    skill = {"label": "skills", "key": "sail"}
    output = chat.call_tool("load_context", skill)
    chat.call_tool("unload_context", skill)
    call = ToolCallPart(call_id="c", name="load_context", input=skill)
    chat.append_all([("assistant", call), ("tool", ToolResultPart(call_id="c", output=output))])
    assert "find a boat" not in str(sessions.session("chat").prepare().messages)
    chat.load_context("skills", "sail")
    assert "find a boat" in str(sessions.session("chat").prepare().messages)


def test_another_configuration_is_another_prompt(sessions: SessionManager) -> None:
    """L12: after a change of the blocks the old prompt was served for ever."""
    chat = sessions.session("chat").with_context("memory", default="likes tea")
    chat.prepare()
    again = sessions.session("chat").with_context("memory", default="likes tea")
    again.with_context("soul", default="Be brief.", readonly=True)
    assert "Be brief." in again.prepare().prompt


def test_a_deletion_leaves_the_path_whole(chat: Session) -> None:
    """L13: a history began below the hole, and overlays over it stopped to apply."""
    messages = chat.append_all([("user", f"m{n}") for n in range(8)])
    chat.add_overlay(messages[1], messages[4], "covered")
    chat.delete([messages[1], messages[6]])
    assert texts(chat) == ["m0", "covered", "m5", "m7"]
    assert texts(chat, overlays=False) == ["m0", "m2", "m3", "m4", "m5", "m7"]
