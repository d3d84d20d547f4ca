"""Sessions as JSON Lines, out of one store and into another, and from store to store."""

from .copying.events import (
    CopyBegun,
    CopyDone,
    CopyEvent,
    CopyFailed,
    CopyProgress,
    SessionCopied,
)
from .copying.store import check_owners, copy_store
from .export import Exported, export_lines
from .file_check import check_alone
from .file_import import Imported, import_file

__all__ = [
    "CopyBegun",
    "CopyDone",
    "CopyEvent",
    "CopyFailed",
    "CopyProgress",
    "Exported",
    "Imported",
    "SessionCopied",
    "check_alone",
    "check_owners",
    "copy_store",
    "export_lines",
    "import_file",
]
