"""Where an owner's documents are: the first together in one log, the others on shelves.

Each shelf is a log of its own, so that a put folds a small state however many documents there are.
Which shelf a key belongs on follows from the key. Once a shelf was opened the first log takes no
new key, whatever becomes of the others: so who has not heard of a key there never will, and who
knows of a shelf need not look there again.
"""

from __future__ import annotations

from .log_documents import digest, owner_log
from .state import LogState

DOCUMENTS = "documents"
SHELVES = 64
MOST_TOGETHER = 64
"""How many documents are in one log before shelves are opened."""


def together_log(owner: str) -> str:
    """Name the log that has an owner's first documents, and says which shelves there are."""
    return owner_log(owner, DOCUMENTS)


def shelf_log(owner: str, number: int) -> str:
    """Name a shelf, which is also its tree."""
    return f"{together_log(owner)}{number:02x}"


def shelf_number(key: str) -> int:
    """Return on which shelf a document is that is not among the first."""
    return int(digest(key)[:8], 16) % SHELVES


def is_on_shelf(together: LogState, key: str) -> bool:
    """Whether a document can only be on its shelf; also right if the state is not the newest."""
    return key not in together.documents and shelf_number(key) in together.shelves


def is_full(together: LogState) -> bool:
    """Whether an owner's first log takes no new key."""
    return bool(together.shelves) or len(together.documents) >= MOST_TOGETHER
