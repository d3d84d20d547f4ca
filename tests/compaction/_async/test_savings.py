"""A compaction is made when it saves anything, and refused when it saves nothing."""

from __future__ import annotations

import pytest

from sapwood import NewMessage, TextPart, open_async
from sapwood.compaction import CompactDraft, CompactRequest
from sapwood.rules.tokens import estimate_text

SUMMARY = "It was about the harbour."


@pytest.mark.parametrize(("saved", "status"), [(0, "refused"), (1, "done"), (2, "done")])
async def test_a_summary_that_is_shorter_by_one_token_is_taken(saved: int, status: str) -> None:
    def cover_the_second(request: CompactRequest) -> CompactDraft:
        second = request.entries[1]
        return CompactDraft(first=second, last=second, summary=SUMMARY)

    tokens = estimate_text(SUMMARY) + saved
    async with open_async("memory://") as sessions:
        chat = (await sessions.session("chat")).compact_with(cover_the_second)
        said = [NewMessage(role="user", parts=[TextPart(text="hm")], tokens=tokens)] * 3
        await chat.append_all(said)
        assert (await chat.compact()).status == status
