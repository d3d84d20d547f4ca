"""Copying sessions from any store to any other, a piece at a time, and proving it."""

from .events import (
    CopyBegun,
    CopyDone,
    CopyEvent,
    CopyFailed,
    CopyProgress,
    SessionCopied,
)
from .store import check_owners, copy_store

__all__ = [
    "CopyBegun",
    "CopyDone",
    "CopyEvent",
    "CopyFailed",
    "CopyProgress",
    "SessionCopied",
    "check_owners",
    "copy_store",
]
