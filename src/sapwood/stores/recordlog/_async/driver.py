"""What the record log asks of a database: a few primitives, which a driver carries out.

`create` is the only commit. What is committed is never in doubt afterwards: a record is there under
its name, or it is not. Everything else is either read, or put beside the records by whoever comes
by, as often as anybody likes, with the same outcome. Given nothing to do, a driver does nothing.

A driver's exceptions do not leave it: it raises what `sapwood.errors` has, with `retryable` right.
When it is not known whether a `create` was carried out it raises `StoreUnavailableError`; the log
then looks whether the record is there, and is its own.

Two consistencies are told apart. *By name* (`create`, `get`): what was acknowledged is seen at
once, by everybody. *By question* (`newest_page`, `following`, `spans`, `entries`): may be behind
until `refresh`, unless it says otherwise; the log knows what is missing and asks again by name.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence

from ....model import Health
from ..log_documents import MOST_IN_A_RECORD, LogDocument, LogKey, LogKind
from ..record_sender import AsyncRecordSender, CreateOutcome, is_new
from ..rows import RowCache

CLOCK_READ_EVERY_S = 60.0


class AsyncLogDriver(ABC):
    """A database as the record log sees it. One object serves any number of callers at once."""

    max_data_bytes: int
    """How large `LogDocument.data` may be; the store refuses what is larger before it is sent."""

    max_messages = MOST_IN_A_RECORD
    """How many messages one record may have; a batch of more is refused."""
    rows: RowCache | None = None
    """Where messages are kept that were read from records, if the log is all in this process."""

    def is_taken_back(self, log: str, n: int) -> bool:
        """Whether a number of a log was given out in a time that the whole store went back from."""
        return False

    def count_forgotten(self, shard: str) -> int:
        """Return how many sessions of a name need not be looked for: none of them is there."""
        return 0

    # commit

    @abstractmethod
    async def create(self, document: LogDocument) -> bool:
        """Create a document; False, and nothing changed, when there is one of that name.

        Durable when it returns True. Calls of several callers may go out together; each has its
        own outcome, though one of them is refused, and though two are of one name.
        """

    # by name: sees all that was acknowledged before

    @abstractmethod
    async def get(self, keys: Sequence[LogKey]) -> list[LogDocument | None]:
        """Get documents by their names, in the order asked; None for what is not there."""

    # by question

    @abstractmethod
    async def newest_page(self, tree: str, log: str) -> LogDocument | None:
        """Find the record of a log with the highest `n` whose `is_page` is set.

        An older one than the newest is not wrong, only slower.
        """

    @abstractmethod
    async def following(self, tree: str, log: str, after: int) -> list[LogDocument]:
        """Return the records of a log after a number, in order, as many as are known.

        It may stop early, but not before the first `n` that is missing when it is asked by name:
        a driver whose searches lag gets `after + 1`, `after + 2` ... by name, to the first miss.
        What is behind a miss shows that a record was lost: it is given, too, or the driver raises
        `StoreCorruptError`. Records that `blank` emptied are given, too.
        """

    @abstractmethod
    async def spans(self, tree: str, ranges: Sequence[tuple[str, int, int]]) -> list[LogDocument]:
        """Return the records that have a message in any of the ranges, in whatever order.

        A range is a segment and its first and last depth, ends included. Those that were created
        lately may be missing: the log sees the gap, gets them by name, or calls `refresh` and asks
        again.
        """

    @abstractmethod
    async def entries(self, owner: str | None) -> list[LogDocument]:
        """Return all entries of an owner, or of everybody, that were created before the call."""

    @abstractmethod
    async def refresh(self) -> None:
        """Let questions see all that was acknowledged before this call."""

    # beside the records: may be repeated, and may come late

    @abstractmethod
    async def create_all(self, documents: Sequence[LogDocument]) -> None:
        """Create those of the documents that are not there; the others are left as they are.

        For look-ups, whose content follows from their name: it does not matter who was first.
        """

    @abstractmethod
    async def put(self, documents: Sequence[LogDocument]) -> None:
        """Replace documents that are there by others of the same name, each by itself.

        One that `blank` emptied stays empty: what was read before that is not put back. The log
        only takes content away in this way, and looks at the outcome again.
        """

    @abstractmethod
    async def blank(self, keys: Sequence[LogKey]) -> None:
        """Empty documents: `data` becomes b"", `segment` and `owner` "", `is_page` False.

        Their names stay taken. What is not there is passed over.
        """

    @abstractmethod
    async def delete(self, keys: Sequence[LogKey]) -> None:
        """Delete documents; their names are free again. What is not there is passed over."""

    # the database as a whole

    @abstractmethod
    async def now(self) -> int:
        """Return the time in microseconds: the server's as far as it can be had."""

    @abstractmethod
    async def health(self) -> Health:
        """Return which database this is and whether it can be written."""

    @abstractmethod
    async def make_ready(self, *, may_migrate: bool) -> None:
        """Connect, look at the schema's version, and set up what is missing if that is allowed.

        Safe when several processes do it at once. Raises `SchemaTooNewError` for one that a newer
        sapwood made, and `MigrationNeededError` when it may not be set up here. Called once,
        before anything else.
        """

    @abstractmethod
    async def schema_version(self) -> int:
        """Return the version of the schema that is there; 0 when there is none."""

    @abstractmethod
    async def aclose(self) -> None:
        """Let go of connections, unless they are somebody else's."""


class AsyncServerDriver(AsyncLogDriver):
    """Creates what arrives together at once, and counts on from the server's clock."""

    def __init__(self) -> None:
        self._gather = AsyncRecordSender(self._send)
        self._clock_us = 0
        self._clock_at = -CLOCK_READ_EVERY_S

    @abstractmethod
    async def _send(self, documents: Sequence[LogDocument]) -> Sequence[CreateOutcome]:
        """Create documents of one kind; return of each whether it is new, or why it was refused."""

    @abstractmethod
    async def _server_time(self) -> int:
        """Ask for the server's time."""

    async def create(self, document: LogDocument) -> bool:
        """Create a document; records go out together with others'."""
        if document.kind is LogKind.RECORD:
            return await self._gather.add(document)
        [told] = await self._send([document])
        return is_new(told)

    async def create_all(self, documents: Sequence[LogDocument]) -> None:
        for told in await self._send(documents) if documents else ():
            is_new(told)

    async def now(self) -> int:
        """Return the server's time, which is looked at once a minute and counted on from there."""
        if time.monotonic() - self._clock_at >= CLOCK_READ_EVERY_S:
            self._clock_us = await self._server_time()
            self._clock_at = time.monotonic()
        return self._clock_us + round((time.monotonic() - self._clock_at) * 1_000_000)
