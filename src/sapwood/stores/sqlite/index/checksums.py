"""A checksum with every page of the index, which SQLite's own shim keeps and compares.

Words that are damaged in place still make a sound tree: only their checksum tells.
"""

from __future__ import annotations

import logging
from contextlib import closing

import apsw

from ..inheritance import OPENING

logger = logging.getLogger(__name__)

CHECKSUM_BYTES = 8
"""What the shim asks to be left free at the end of each page."""
_EXTRA = "cksumvfs"
_VFS = "cksmvfs"


def checksum_vfs() -> str | None:
    """Return the name of the shim; None where apsw came without it."""
    # A second one would be laid over the first, and call itself.
    with OPENING:
        return _VFS if _VFS in apsw.vfs_names() or _is_loaded() else None


def _is_loaded() -> bool:
    default = apsw.vfs_names()[0]
    try:
        from apsw import sqlite_extra  # older ones have none

        if sqlite_extra.has(_EXTRA) is None:
            return False
        with closing(apsw.Connection(":memory:")) as any_connection:
            sqlite_extra.load(any_connection, _EXTRA)
    except (ImportError, apsw.Error):
        logger.debug("pages of the index have no checksums", exc_info=True)
        return False
    # It makes itself the default: other connections of the process are none of our concern.
    apsw.set_default_vfs(default)
    return True
