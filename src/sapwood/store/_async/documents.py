"""The calls of the contract that are about documents."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from ...model import Document, DocumentChange, Fence


class AsyncDocumentCalls(ABC):
    """Small values by key, of an owner or of a session; some expire, and some are leases.

    A key has 1 to 1,024 bytes of UTF-8 without control characters.
    """

    @abstractmethod
    async def find_document(
        self, owner: str, key: str, *, session: str | None = None
    ) -> Document | None:
        """Find a document of the owner, or of a session; an expired one is not found."""

    @abstractmethod
    async def put_document(
        self,
        owner: str,
        key: str,
        value: bytes,
        *,
        session: str | None = None,
        expected_version: int | None = None,
        expires_in_s: float | None = None,
        inherit: bool = True,
    ) -> Document:
        """Create or replace a document; it gets a higher version than any it ever had.

        What is replaced keeps when it was first put, unless it had expired. One of a session that
        is put with `inherit=False` is not copied by forks, and goes at a clear.

        An `expected_version` of 0 means that it must not be there, or be expired by the store's
        clock; any other must be the stored one, expired or not, unless `finish_deletions` removed
        it, a day or more after it expired. A session's `pins` cannot expire, and are inherited.
        Raises `StaleVersionError`.
        """

    @abstractmethod
    async def put_documents(
        self,
        owner: str,
        session: str,
        documents: Sequence[DocumentChange],
        *,
        fence: Fence | Sequence[Fence] | None = None,
    ) -> dict[str, int]:
        """Put and delete some of a session's documents, all or none.

        Return the version of each by its key, 0 for those that were deleted. Raises
        `StaleVersionError` as a put alone does, and `LeaseLostError` as `add_overlay` does.
        """

    @abstractmethod
    async def renew_document(
        self,
        owner: str,
        key: str,
        *,
        expected_version: int,
        expires_in_s: float,
        session: str | None = None,
    ) -> Document:
        """Let a document expire so much later than now, or when it does; its version stays.

        It must be stored at the expected version, expired or not, as it must be for a put: who held
        a lease keeps it while nobody else has taken it. Raises `StaleVersionError`, and
        `ConflictError` for a document that does not expire.
        """

    @abstractmethod
    async def delete_document(
        self,
        owner: str,
        key: str,
        *,
        session: str | None = None,
        expected_version: int | None = None,
    ) -> bool:
        """Delete a document; return whether it was there and not expired.

        An `expected_version` of 0 means that it must not be there, or be expired, as for a put; an
        expired one goes, and with it the last fence of who held it. Raises `StaleVersionError` when
        it is not stored at the expected version.
        """

    @abstractmethod
    async def delete_documents(self, owner: str, prefix: str, *, session: str | None = None) -> int:
        """Delete the documents whose keys begin with a prefix; a session's, all or none.

        An owner's may go some at a time: when it fails, call it again. Return how many were there
        and not expired; expired ones go, too.
        """

    @abstractmethod
    async def list_documents(
        self,
        owner: str,
        prefix: str = "",
        *,
        session: str | None = None,
        after: str | None = None,
        limit: int | None = None,
        reverse: bool = False,
        values: bool = True,
    ) -> list[Document]:
        """List the documents whose keys begin with a prefix, by key, or in `reverse`.

        `after` is a key after which to begin in that order, whether it is there or not. Without
        `values`, they are given with an empty one, and are not read.
        """
