"""The methods of a context for its frozen prompt, which is rendered anew only on purpose."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress

import msgspec

from ...errors import ReadOnlyError, StaleVersionError, StoreCorruptError
from ...model import Document, SessionPatch
from ...rules.ids import check_name
from ...rules.prompt import digest_of, fingerprint_all, heading, render
from ..prompt_document import (
    BlockNote,
    BlockUpdate,
    CacheReport,
    FrozenBlock,
    LoggedChange,
    PromptDocument,
    PromptStanding,
    changes_of,
    describe_updates,
    is_back,
    prompt_document_in,
    untold,
    with_log,
    with_note,
)
from .bound_block import AsyncBoundBlock
from .context_base import AsyncContextBase

logger = logging.getLogger(__name__)

KEY = "prompt"


BlockSnapshot = tuple[str | None, int | None]
"""What was read of a block for the prompt, and its version; no content if it could not be read."""


class AsyncPromptMethods(AsyncContextBase):
    """The document `prompt` of one session: kept byte for byte."""

    _has_warned = False

    async def freeze(self) -> str:
        """Return the session's prompt, byte for byte the same each time.

        It is rendered when there is none yet, or when the blocks' configuration is another.
        """
        bound = self._bound
        fingerprint = _fingerprint(bound)
        # Every failed turn means that another writer's went through, so this ends.
        while True:
            document = await self._find_document(KEY, missing_ok=self._may_be_missing)
            before = None if document is None else prompt_document_in(document)
            if before is not None and before.fingerprint == fingerprint:
                self._own.add(fingerprint)
                return before.text
            reason = "first" if before is None else "configuration"
            text = await self._renew(bound, document, before, reason)
            if text is not None:
                return text

    async def refresh(self, reason: str = "refresh") -> str:
        """Render the prompt anew from what the blocks hold now; the report names the reason."""
        check_name(reason, "reason")
        while True:
            document = await self._find_document(KEY, missing_ok=self._may_be_missing)
            text = await self._renew(self._bound, document, _readable(document), reason)
            if text is not None:
                return text

    async def peek(self) -> str | None:
        """Return the stored prompt as it is, or None; nothing is rendered."""
        document = await self._find_document(KEY)
        return None if document is None else prompt_document_in(document).text

    async def updates(self) -> str:
        """Return which blocks changed since the freeze, as text for the model; empty if none."""
        standing = await self.standing()
        if standing is None:
            return ""
        labels = {each.label for each in self._bound}
        gone = [
            BlockUpdate(label=block.label, before=None, now=None)
            for block in standing.frozen.blocks
            if block.label not in labels and block.span is not None
        ]
        return self.describe([*untold(standing.blocks, {}), *gone])

    def describe(self, changes: Sequence[BlockUpdate]) -> str:
        """Describe changes of blocks as text for the model; empty if there are none."""
        return describe_updates(changes, self._count)

    async def standing(self) -> PromptStanding | None:
        """Return the stored prompt beside what can be read of the blocks; None without one."""
        document = await self._find_document(KEY)
        if document is None:
            return None
        frozen = prompt_document_in(document)
        found = [await self._beside(each, frozen) for each in self._bound]
        return PromptStanding(document, frozen, [it for it in found if it is not None])

    async def keep_note(self, note: BlockNote, standing: PromptStanding) -> bool:
        """Keep what is told along with a message; False if the prompt is no longer the same.

        Where nothing can be written it is told all the same, and anew each time.
        """
        document, frozen, _ = standing
        kept = with_note(frozen, document.updated_us, note)
        with suppress(ReadOnlyError):
            try:
                await self._put_document(KEY, msgspec.json.encode(kept), document)
            except StaleVersionError:
                return False
        return True

    async def cache_report(self) -> CacheReport:
        """Return what changed the prompt, when and why."""
        document = await self._find_document(KEY)
        if document is None:
            return CacheReport(is_frozen=False, is_current=False, tokens=0, bytes=0, changes=[])
        frozen = prompt_document_in(document)
        return CacheReport(
            is_frozen=True,
            is_current=frozen.fingerprint == _fingerprint(self._bound),
            tokens=self._count(frozen.text),
            bytes=len(frozen.text.encode()),
            changes=changes_of(frozen, document.updated_us),
        )

    async def _renew(
        self,
        bound: Sequence[AsyncBoundBlock],
        document: Document | None,
        before: PromptDocument | None,
        reason: str,
    ) -> str | None:
        """Render and store; None when somebody else was faster."""
        # Before the blocks are read: providers may keep their text with the session.
        await self._before_write()
        new = await self._rendered(bound, before)
        if before is not None and new == msgspec.structs.replace(before, log=[]):
            return new.text
        before_us = 0 if document is None else document.updated_us
        is_anothers = before is not None and before.fingerprint not in self._own
        alternates = is_anothers and is_back(new, before)
        tokens = self._count(new.text)
        change = LoggedChange(reason=reason, tokens=tokens, alternates=alternates)
        new = with_log(new, before, before_us, change)
        try:
            await self._put_document(KEY, msgspec.json.encode(new), document)
        except StaleVersionError:
            return None
        self._own.add(new.fingerprint)
        if before is not None and new.text != before.text:
            # By the record's version sessions elsewhere see that they measured another prompt.
            await self._store.update_session(self._owner, self._session, SessionPatch())
        if alternates and not self._has_warned:
            self._has_warned = True
            logger.warning(
                "the prompt of session %r of %r goes back and forth between different blocks, and "
                "no provider's cache of it holds: open the session with the same blocks everywhere",
                self._session,
                self._owner,
            )
        return new.text

    async def _rendered(
        self, bound: Sequence[AsyncBoundBlock], before: PromptDocument | None
    ) -> PromptDocument:
        snapshots = [await self._snapshot(each, before) for each in bound]
        rendered = render(
            [each.prompt_block(text) for each, (text, _) in zip(bound, snapshots, strict=True)]
        )
        frozen = [
            FrozenBlock(
                label=each.label,
                config=each.fingerprint(),
                digest=None if text is None else digest_of(text),
                version=version,
                span=span,
            )
            for each, (text, version), span in zip(bound, snapshots, rendered.spans, strict=True)
        ]
        return PromptDocument(
            text=rendered.text, fingerprint=_fingerprint(bound), blocks=frozen, log=[]
        )

    async def _snapshot(
        self, bound: AsyncBoundBlock, before: PromptDocument | None
    ) -> BlockSnapshot:
        """Read a block; when its provider fails, take what was frozen of it before."""
        try:
            reading = await bound.read()
            return reading.content, reading.version
        except Exception:
            if bound.stored is not None:
                # Our own store's failure is not the block's: nothing is frozen.
                raise
            logger.warning("block %r cannot be read", bound.label, exc_info=True)
        known = None if before is None else before.find(bound.label)
        if before is None or known is None or known.config != bound.fingerprint():
            return None, None
        return before.content_of(known), None

    async def _beside(self, bound: AsyncBoundBlock, frozen: PromptDocument) -> BlockUpdate | None:
        """Read a block beside what was frozen of it; one that cannot be read is as it was."""
        now, _ = await self._snapshot(bound, frozen)
        if now is None:
            return None
        known = frozen.find(bound.label)
        return BlockUpdate(
            label=bound.label,
            before=None if known is None else frozen.content_of(known),
            now=now,
            heading=heading(bound.prompt_block(now)),
            frozen=digest_of("") if known is None else known.digest,
            digest=digest_of(now),
        )


def _fingerprint(bound: Sequence[AsyncBoundBlock]) -> str:
    return fingerprint_all(each.fingerprint() for each in bound)


def _readable(document: Document | None) -> PromptDocument | None:
    """Read a prompt that is about to be replaced; a damaged one counts as none."""
    if document is None:
        return None
    try:
        return prompt_document_in(document)
    except StoreCorruptError:
        logger.warning("the stored prompt cannot be read and is written anew", exc_info=True)
        return None
