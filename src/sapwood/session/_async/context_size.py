"""How full the context is: counted by what the provider reported, else estimated."""

from __future__ import annotations

import msgspec

from ...model import Document, Position, Read, SessionPatch, SessionRecord, Usage
from .context_blocks import AsyncContextBlocks
from .stored_session import AsyncStoredSession

KEY = "reported"
UNMEASURED = "it could not be seen how full the context is"


class SizeReport(msgspec.Struct, frozen=True, kw_only=True):
    """A call's real size at a message: `tokens` up to and with it, where the estimate said
    `estimate` for the history and `overhead` for prompt and tools."""

    message: str
    segment: str
    depth: int
    tokens: int
    estimate: int
    overhead: int


class AsyncContextSize:
    """Measures the context of one session, and remembers what it is measured by."""

    __slots__ = ("_blocks", "_knows_reported", "_measured_at", "_reported", "_stored")

    def __init__(self, stored: AsyncStoredSession, blocks: AsyncContextBlocks) -> None:
        self._stored = stored
        self._blocks = blocks
        # What the record was when these were read: whoever changes one of them changes its version.
        self._measured_at: tuple[int, int] | None = None
        self._reported: SizeReport | None = None
        self._knows_reported = False

    async def tokens(self, record: SessionRecord | None = None) -> int:
        """Return how many tokens the next call is going to take: prompt, tools and history.

        A `record` is one that was just read.
        """
        record = await self._stored.record() if record is None else record
        stamp = (record.version, record.created_us)
        return await self.tokens_at(record.context_tokens, record.tip_position, stamp)

    async def tokens_anew(self) -> int:
        """Return the same from what is stored now, whatever was known."""
        self._forget()
        return await self.tokens()

    async def tokens_at(self, shown: int, tip: Position | None, stamp: tuple[int, int]) -> int:
        """Return the same of a history of so many tokens, by a record of this version and age."""
        if stamp != self._measured_at:
            self._forget()
            self._measured_at = stamp
        overhead = await self._blocks.overhead()
        if not self._knows_reported:
            self._reported = _report_in(await self._stored.find_document(KEY))
            self._knows_reported = True
        reported = self._reported
        if reported is not None and await self._holds(reported, overhead, tip):
            return max(0, reported.tokens + shown - reported.estimate)
        return shown + overhead

    async def _holds(self, reported: SizeReport, overhead: int, tip: Position | None) -> bool:
        """Whether a report is about this prompt, and a message on the path to the tip."""
        if reported.overhead != overhead or tip is None or tip.depth < reported.depth:
            return False
        if tip.segment == reported.segment:
            return True
        return await self._stored.is_on_path(reported.message, reported.depth)

    async def report(self, usage: Usage) -> None:
        """Measure by what a call cost from now on, if it names the message that it gave."""
        stored = self._stored
        if usage.message is None or not usage.input_tokens:
            return
        with stored.after_a_write("the context is not measured by what was reported"):
            message = await stored.find_message(usage.message)
            if message is None:
                return
            history = await stored.read(Read(leaf=message.id, limit=1, backwards=True))
            self._blocks.known_overhead = None
            reported = SizeReport(
                message=message.id,
                segment=message.segment,
                depth=message.depth,
                tokens=usage.input_tokens + usage.output_tokens,
                estimate=history.context_tokens,
                overhead=await self._blocks.overhead(),
            )
            await stored.put_document(KEY, msgspec.json.encode(reported))
            await self._tell_others()

    async def return_to_estimate(self) -> None:
        """Go back to the estimate: an overlay changed what the report was about."""
        with self._stored.after_a_write("a report of its size could not be deleted"):
            await self.forget_report()

    async def forget_report(self) -> None:
        """Delete what was reported."""
        if await self._stored.delete_document(KEY):
            await self._tell_others()

    async def _tell_others(self) -> None:
        """Change the record's version, by which other objects see that they know too little."""
        self._forget()
        stored = self._stored
        await stored.store.update_session(stored.owner, stored.id, SessionPatch())

    def _forget(self) -> None:
        self._blocks.known_overhead = None
        self._measured_at = None
        self._knows_reported = False


def _report_in(document: Document | None) -> SizeReport | None:
    """Read the document; one that cannot be read counts as none, since it is only a measure."""
    if document is None:
        return None
    try:
        return msgspec.json.decode(document.value, type=SizeReport)
    except (msgspec.DecodeError, msgspec.ValidationError):
        return None
