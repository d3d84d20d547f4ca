"""Compaction, by the design's rules 9 to 11."""

from __future__ import annotations

import pytest

from sapwood import (
    AsyncSession,
    AsyncSessionManager,
    Summary,
    ToolCallPart,
    ToolResultPart,
)
from sapwood.compaction import (
    CompactDraft,
    CompactRequest,
    SummaryAnswer,
    create_compact_function,
)
from sapwood.errors import CompactionError, NotFoundError, UsageError
from sapwood.model import Usage

from .compactable import LONG, Model, fill, shown, tight


async def test_a_compaction_covers_the_middle_and_deletes_nothing(chat: AsyncSession) -> None:
    model = Model()
    messages = await fill(chat, 8)
    done = await chat.compact_with(tight(model)).compact()
    assert done.status == "done"
    assert done.tokens_after < done.tokens_before
    assert await shown(chat) == [
        messages[0].id,
        "<It was about the harbour.>",
        messages[6].id,
        messages[7].id,
    ]
    assert (await chat.history(overlays=False)).entries == messages
    assert len((await chat.search("harbour", limit=20)).hits) == 9


async def test_it_can_be_undone_and_both_are_listed(chat: AsyncSession) -> None:
    messages = await fill(chat, 8)
    chat.compact_with(tight(Model()))
    await chat.compact()
    await chat.append_all([("user", LONG)] * 4)
    await chat.compact()
    assert [note.undone for note in await chat.compactions()] == [False, False]
    await chat.undo_compaction()
    await chat.undo_compaction()
    assert [note.undone for note in await chat.compactions()] == [True, True]
    assert [note.reason for note in await chat.compactions()] == ["asked", "asked"]
    assert (await chat.history()).entries[:8] == messages
    with pytest.raises(NotFoundError, match="no compaction"):
        await chat.undo_compaction()


async def test_an_overlay_made_by_hand_is_no_compaction(chat: AsyncSession) -> None:
    messages = await fill(chat, 4)
    await chat.add_overlay(messages[0], messages[1], "by hand")
    assert await chat.compactions() == []
    with pytest.raises(NotFoundError):
        await chat.undo_compaction()


async def test_a_closed_session_is_not_compacted_and_no_model_is_asked(chat: AsyncSession) -> None:
    model = Model()
    messages = await fill(chat, 8)
    await chat.update_record(closed=True)
    refused = await chat.compact_with(tight(model)).compact()
    assert (refused.status, refused.reason) == ("refused", "the session is closed")
    assert (model.prompts, await shown(chat)) == ([], [it.id for it in messages])
    await chat.update_record(closed=False)
    assert (await chat.compact()).status == "done"


async def test_a_session_that_is_closed_meanwhile_is_not_compacted(chat: AsyncSession) -> None:
    async def close_meanwhile(prompt: str) -> str:
        await chat.update_record(closed=True)
        return "It was about the harbour."

    messages = await fill(chat, 8)
    refused = await chat.compact_with(tight(close_meanwhile)).compact()
    assert (refused.status, refused.reason) == ("refused", "the session is closed")
    assert await shown(chat) == [it.id for it in messages]


async def test_without_a_model_it_is_a_digest(chat: AsyncSession) -> None:
    await chat.append("user", "Please find the boat.")
    await fill(chat, 60)
    chat.compact_with(create_compact_function(strategy="digest", tail_token_budget=500))
    assert (await chat.compact()).status == "done"
    assert len((await chat.history()).entries) < 20


async def test_a_preview_changes_nothing(chat: AsyncSession) -> None:
    model = Model()
    messages = await fill(chat, 8)
    chat.compact_with(tight(model))
    preview = await chat.preview_compaction(focus="the boat")
    assert preview is not None
    assert preview.entries == messages[1:6]
    assert "the boat" in preview.prompt
    assert model.prompts == []
    assert (await chat.history()).entries == messages


async def test_rule_11_every_summary_in_the_range_is_in_the_prompt(chat: AsyncSession) -> None:
    messages = await fill(chat, 12)
    await chat.add_overlay(messages[1], messages[2], "first note " * 30)
    await chat.add_overlay(messages[4], messages[5], "second note " * 30)
    model = Model()
    await chat.compact_with(tight(model)).compact()
    assert "first note " * 29 in model.prompts[0]
    assert "second note " * 29 in model.prompts[0]
    assert [entry.id for entry in (await chat.history()).messages_only] == [
        messages[0].id,
        messages[10].id,
        messages[11].id,
    ]


async def test_rule_09_what_arrives_meanwhile_survives(sessions: AsyncSessionManager) -> None:
    chat = await sessions.session("chat")
    messages = await fill(chat, 8)
    plain = await sessions.get("chat")

    async def write_meanwhile(prompt: str) -> str:
        await plain.append("user", "am I still here?", id="late")
        return "short"

    chat.compact_with(tight(write_meanwhile))
    assert (await chat.compact()).status == "done"
    assert await shown(chat) == [messages[0].id, "<short>", *(m.id for m in messages[6:]), "late"]


async def test_rule_09_what_was_edited_meanwhile_is_not_covered(
    sessions: AsyncSessionManager,
) -> None:
    chat = await sessions.session("chat")
    messages = await fill(chat, 8)
    plain = await sessions.get("chat")

    async def edit_meanwhile(prompt: str) -> str:
        await plain.update(messages[3], "I meant something else")
        return "short"

    refused = await chat.compact_with(tight(edit_meanwhile)).compact()
    assert (refused.status, refused.overlay) == ("refused", None)
    assert "changed meanwhile" in refused.reason
    assert len((await chat.history()).entries) == 8


async def test_rule_09_one_at_a_time_across_objects(sessions: AsyncSessionManager) -> None:
    chat = await sessions.session("chat")
    await fill(chat, 8)
    other = (await sessions.get("chat")).compact_with(tight(Model("other")))
    inner: list[str] = []

    async def start_another(prompt: str) -> str:
        inner.append((await other.compact()).reason)
        return "short"

    assert (await chat.compact_with(tight(start_another)).compact()).status == "done"
    assert "at work" in inner[0]
    assert len(await chat.overlays()) == 1
    # The lease is given back.
    await fill(chat, 4)
    assert (await other.compact()).status == "done"


async def test_rule_09_a_lease_that_was_taken_over_refuses_the_write(
    sessions: AsyncSessionManager,
) -> None:
    chat = await sessions.session("chat")
    messages = await fill(chat, 8)
    store = sessions.store

    async def be_too_slow(prompt: str) -> str:
        lease = await store.find_document("ada", "compaction", session="chat")
        assert lease is not None
        # Expired, and taken by another: a higher version.
        await store.put_document(
            "ada", "compaction", b"{}", session="chat", expected_version=lease.version
        )
        return "short"

    refused = await chat.compact_with(tight(be_too_slow)).compact()
    assert (refused.status, "lease" in refused.reason) == ("refused", True)
    assert (await chat.history()).entries == messages
    # The other's lease is not released by the one who lost it.
    assert await store.find_document("ada", "compaction", session="chat") is not None


async def test_rule_09_a_summariser_that_fails_leaves_everything_as_it_was(
    chat: AsyncSession,
) -> None:
    def fail(prompt: str) -> str:
        raise OSError("the line is dead")

    messages = await fill(chat, 8)
    before = await chat.record()
    chat.compact_with(tight(fail))
    with pytest.raises(CompactionError, match="the line is dead") as caught:
        await chat.compact()
    assert isinstance(caught.value.__cause__, OSError)
    assert (await chat.history()).entries == messages
    assert await chat.record() == before
    # And the lease is free.
    assert (await chat.compact_with(tight(Model())).compact()).status == "done"


async def test_rule_09_a_summariser_that_hangs_is_given_up(chat: AsyncSession) -> None:
    import threading

    def hang(prompt: str) -> str:
        threading.Event().wait()
        return ""

    await fill(chat, 8)
    with pytest.raises(CompactionError, match="TimeoutError"):
        await chat.compact_with(tight(hang, timeout_s=0.05)).compact()
    assert (await chat.compact_with(tight(Model())).compact()).status == "done"


async def test_a_refusal_says_which_reason_it_has(chat: AsyncSession) -> None:
    refused = await chat.compact_with(tight(Model("short"))).compact()
    assert refused.reason == "there is nothing to cover"
    await chat.append_all([("user", LONG)] * 6)
    refused = await chat.compact_with(tight(Model(" "))).compact()
    assert refused.reason == "the summary is empty"
    refused = await chat.compact_with(lambda request: None).compact()
    assert refused.reason == "the function that makes the summaries gave none"


@pytest.mark.parametrize("answer", ["", "   \n", LONG * 20])
async def test_a_summary_that_is_empty_or_no_shorter_is_refused(
    chat: AsyncSession, answer: str
) -> None:
    messages = await fill(chat, 8)
    refused = await chat.compact_with(tight(Model(answer))).compact()
    assert refused.status == "refused"
    assert (await chat.history()).entries == messages


async def test_there_may_be_nothing_to_cover(chat: AsyncSession) -> None:
    chat.compact_with(tight(Model(), protect_head=3))
    assert (await chat.compact()).status == "refused"
    await fill(chat, 3)
    assert (await chat.compact()).status == "refused"


async def test_rule_10_a_call_in_flight_stays_in_the_tail(chat: AsyncSession) -> None:
    await fill(chat, 6)
    call = await chat.append("assistant", ToolCallPart(call_id="c", name="sail", input={}))
    await fill(chat, 6)
    await chat.compact_with(tight(Model())).compact()
    assert call.id in await shown(chat)


async def test_a_pin_stays_in_sight(chat: AsyncSession) -> None:
    messages = await fill(chat, 8)
    await chat.pin(messages[3])
    await chat.compact_with(tight(Model())).compact()
    [_, summary, *_] = (await chat.history()).entries
    assert isinstance(summary, Summary)
    assert summary.pinned == [messages[3]]


async def test_a_call_that_was_pinned_in_flight_stays_with_its_result(chat: AsyncSession) -> None:
    await fill(chat, 3)
    call = await chat.append("assistant", ToolCallPart(call_id="c", name="sail", input={}))
    await chat.pin(call)
    result = await chat.append("tool", ToolResultPart(call_id="c", output="at sea"))
    messages = await fill(chat, 3)
    await chat.compact_with(tight(Model())).compact()
    [_, summary, *_] = (await chat.history()).entries
    assert isinstance(summary, Summary)
    assert summary.pinned == [call, result]
    assert "interrupted" not in str((await chat.prepare()).messages)
    assert await chat.pins() == [call.id, result.id]
    # By hand it is the same.
    await chat.undo_compaction()
    await chat.unpin(result)
    later = await chat.append("assistant", ToolCallPart(call_id="d", name="sail", input={}))
    await chat.pin(later)
    answer = await chat.append("tool", ToolResultPart(call_id="d", output="home"))
    await chat.add_overlay(messages[0], answer, "by hand")
    assert (await chat.history()).entries[-1].pinned == [later, answer]  # type: ignore[union-attr]


async def test_what_stays_in_sight_does_not_count_as_saved(chat: AsyncSession) -> None:
    messages = await fill(chat, 6)
    await chat.append("user", "tiny")
    await fill(chat, 2)
    for message in messages[1:]:
        await chat.pin(message)
    before, pins = await shown(chat), await chat.pins()
    refused = await chat.compact_with(tight(Model("rather a lot of words " * 4))).compact()
    assert (refused.status, refused.overlay) == ("refused", None)
    assert (await shown(chat), await chat.pins()) == (before, pins)


async def test_a_compaction_elsewhere_says_nothing_about_the_tip(
    sessions: AsyncSessionManager,
) -> None:
    chat = (await sessions.session("chat")).compact_with(tight(Model()))
    messages = await fill(chat, 8)
    await chat.append("user", "elsewhere", parent=messages[0])
    for answer in ("short", ""):
        await chat.compact_with(tight(Model(answer))).compact(leaf=messages[-1])
    with pytest.raises(CompactionError):
        await chat.compact_with(lambda request: 1 / 0).compact(leaf=messages[-1])
    assert await sessions.store.find_document("ada", "compactor", session="chat") is None


async def test_what_others_say_meanwhile_does_not_make_it_a_poor_one(
    sessions: AsyncSessionManager,
) -> None:
    chat = await sessions.session("chat")
    await fill(chat, 8)

    async def talk_on(prompt: str) -> str:
        await fill(await sessions.get("chat"), 20)
        return "short"

    done = await chat.compact_with(tight(talk_on)).compact()
    assert done.tokens_after > done.tokens_before
    # The next is not held back: it has enough to do.
    model = Model()
    chat.compact_with(tight(model)).compact_after(1_000)
    await chat.append("user", "and now?")
    assert len(model.prompts) == 1


async def test_who_lost_the_lease_is_not_held_back_for_it(sessions: AsyncSessionManager) -> None:
    chat = await sessions.session("chat")
    await fill(chat, 8)

    async def clear_meanwhile(prompt: str) -> str:
        await (await sessions.get("chat")).clear()
        return "short"

    assert (await chat.compact_with(tight(clear_meanwhile)).compact()).status == "refused"
    assert await sessions.store.list_documents("ada", session="chat") == []


@pytest.mark.parametrize("strategy", ["summarize", "hybrid"])
async def test_the_summarisers_own_call_is_counted(chat: AsyncSession, strategy: str) -> None:
    await fill(chat, 8)
    usage = Usage(id="s1", model="small", input_tokens=900, output_tokens=12)
    answer = SummaryAnswer(text="short", usage=usage)
    chat.compact_with(tight(lambda prompt: answer, strategy=strategy))
    await chat.compact()
    [total] = await chat.usage()
    assert (total.model, total.input_tokens, total.output_tokens) == ("small", 900, 12)


async def test_an_endpoint_that_uses_its_ids_again_costs_no_summary(chat: AsyncSession) -> None:
    await fill(chat, 8)
    await chat.add_usage(Usage(id="s1", model="small", input_tokens=7))
    usage = Usage(id="s1", model="small", input_tokens=900)
    chat.compact_with(tight(lambda prompt: SummaryAnswer(text="short", usage=usage)))
    assert (await chat.compact()).status == "done"
    [total] = await chat.usage()
    assert total.input_tokens == 7


async def test_a_function_of_ones_own_decides(chat: AsyncSession) -> None:
    messages = await fill(chat, 6)

    def first_two(request: CompactRequest) -> CompactDraft:
        return CompactDraft(first=request.entries[0], last=request.entries[1], summary="two")

    assert (await chat.compact_with(first_two).compact()).status == "done"
    assert await shown(chat) == ["<two>", *(message.id for message in messages[2:])]
    assert await chat.preview_compaction() is None
    with pytest.raises(CompactionError) as caught:
        await chat.compact_with(lambda request: "not a draft").compact()
    assert isinstance(caught.value.__cause__, UsageError)


async def test_it_may_be_compacted_at_another_leaf(chat: AsyncSession) -> None:
    messages = await fill(chat, 8)
    await chat.append("user", "elsewhere", parent=messages[0])
    chat.compact_with(tight(Model()))
    assert (await chat.compact(leaf=messages[-1])).status == "done"
    assert len((await chat.history(messages[-1])).entries) == 4
    assert len((await chat.history()).entries) == 2
    with pytest.raises(NotFoundError):
        await chat.compact(leaf="nobody")
