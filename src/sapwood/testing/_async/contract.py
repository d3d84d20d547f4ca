"""The whole contract, put together."""

from __future__ import annotations

from .admin import AsyncAdminContract
from .append import AsyncAppendContract, AsyncExpectedTipContract
from .bad_names import AsyncBadNameContract
from .bad_values import AsyncBadValueContract
from .batches import AsyncBatchContract
from .closed import AsyncClosedContract, AsyncExtraContract
from .concurrency import AsyncConcurrencyContract
from .data import AsyncDataContract, AsyncUndeclaredDataContract
from .deletion import AsyncClearContract, AsyncSessionDeletionContract
from .document_map import AsyncDocumentMapContract
from .documents import AsyncDocumentContract
from .durability import AsyncDurableContract
from .edges import AsyncEdgeContract
from .erased_data import AsyncErasedDataContract
from .feed import AsyncFeedContract
from .feed_records import (
    AsyncChangedOwnersContract,
    AsyncFeedReaderContract,
    AsyncRecordFeedContract,
)
from .files import AsyncFileContract
from .forks import AsyncDetachedForkContract, AsyncForkContract
from .kinds import AsyncKindContract, AsyncKindSearchContract
from .known import AsyncKnownContract
from .listing import AsyncListingContract
from .looks import (
    AsyncBodilessContract,
    AsyncHomesContract,
    AsyncParentContract,
    AsyncStreamContract,
)
from .marks import AsyncMarkContract
from .messages import AsyncDeleteContract, AsyncFindContract, AsyncUpdateContract
from .missing import AsyncMissingContract
from .orders import AsyncLookUpContract, AsyncOrderContract, AsyncOwnerListingContract
from .overlay_checks import AsyncLeaseContract, AsyncOverlayEndContract, AsyncSnapshotContract
from .overlays import AsyncOverlayContract, AsyncOverlayForkContract, AsyncPinContract
from .owners import AsyncOwnerContract
from .reads import AsyncReadContract, AsyncTreeContract, AsyncWindowContract
from .recent import (
    AsyncPreviewContract,
    AsyncReadMarkContract,
    AsyncRecentContract,
    AsyncRecentMarkContract,
)
from .records import AsyncRecordVersionContract
from .rewriting import AsyncRewriteContract
from .rewriting_meanwhile import AsyncRewriteDataContract, AsyncRewriteMeanwhileContract
from .roundtrip import AsyncRoundTripContract
from .search import AsyncSearchContract, AsyncSummarySearchContract
from .search_pages import AsyncSearchPageContract
from .search_query import AsyncFilterContract, AsyncHitContract, AsyncQueryContract
from .search_scope import (
    AsyncForkSearchContract,
    AsyncGoneSearchContract,
    AsyncOwnerSearchContract,
    AsyncSearchScopeContract,
)
from .serial import AsyncSerialContract
from .sessions import AsyncSessionContract
from .speakers import AsyncDigestContract, AsyncNameContract
from .sums import AsyncSumContract
from .system import AsyncKeyContract, AsyncSystemContract
from .times import AsyncActivityContract, AsyncUpdatedContract
from .units import AsyncFenceContract, AsyncUnitContract
from .usage import AsyncStatisticsContract, AsyncUsageContract
from .walk import AsyncWalkContract


class AsyncStoreContract(
    AsyncSessionContract,
    AsyncListingContract,
    AsyncRecentContract,
    AsyncPreviewContract,
    AsyncReadMarkContract,
    AsyncOrderContract,
    AsyncLookUpContract,
    AsyncOwnerListingContract,
    AsyncForkContract,
    AsyncDetachedForkContract,
    AsyncSumContract,
    AsyncAppendContract,
    AsyncExpectedTipContract,
    AsyncBatchContract,
    AsyncFindContract,
    AsyncUpdateContract,
    AsyncDeleteContract,
    AsyncNameContract,
    AsyncDigestContract,
    AsyncFileContract,
    AsyncParentContract,
    AsyncStreamContract,
    AsyncHomesContract,
    AsyncBodilessContract,
    AsyncReadContract,
    AsyncWindowContract,
    AsyncTreeContract,
    AsyncOverlayContract,
    AsyncOverlayForkContract,
    AsyncPinContract,
    AsyncOverlayEndContract,
    AsyncSnapshotContract,
    AsyncLeaseContract,
    AsyncDocumentContract,
    AsyncDocumentMapContract,
    AsyncUnitContract,
    AsyncKnownContract,
    AsyncFenceContract,
    AsyncClosedContract,
    AsyncExtraContract,
    AsyncUndeclaredDataContract,
    AsyncEdgeContract,
    AsyncSearchContract,
    AsyncSummarySearchContract,
    AsyncSearchScopeContract,
    AsyncForkSearchContract,
    AsyncGoneSearchContract,
    AsyncOwnerSearchContract,
    AsyncQueryContract,
    AsyncFilterContract,
    AsyncHitContract,
    AsyncSearchPageContract,
    AsyncUsageContract,
    AsyncStatisticsContract,
    AsyncFeedContract,
    AsyncRecordFeedContract,
    AsyncFeedReaderContract,
    AsyncChangedOwnersContract,
    AsyncSessionDeletionContract,
    AsyncClearContract,
    AsyncOwnerContract,
    AsyncBadNameContract,
    AsyncBadValueContract,
    AsyncRoundTripContract,
    AsyncConcurrencyContract,
    AsyncSerialContract,
    AsyncRecordVersionContract,
    AsyncKindContract,
    AsyncKindSearchContract,
    AsyncSystemContract,
    AsyncKeyContract,
    AsyncUpdatedContract,
    AsyncActivityContract,
    AsyncWalkContract,
    AsyncRewriteContract,
    AsyncRewriteMeanwhileContract,
    AsyncAdminContract,
):
    """What every store keeps: inherit it, and override the fixture `store`.

    Let the store read the fixture `clock`; where it has a clock of its own, override that with a
    `WaitingClock`.
    """


class AsyncDurableStoreContract(AsyncStoreContract, AsyncDurableContract, AsyncMissingContract):
    """What a store that declares DURABLE keeps: override the fixture `reopen`, too.

    With the fixture `take_out`, it is also tried on a store that lost a message.
    """


class AsyncDataStoreContract(
    AsyncDataContract,
    AsyncMarkContract,
    AsyncErasedDataContract,
    AsyncRecentMarkContract,
    AsyncRewriteDataContract,
):
    """What a store that declares DATA keeps, too."""
