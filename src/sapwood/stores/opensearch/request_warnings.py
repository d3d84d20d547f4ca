"""Large requests, of which the HTTP client of an event loop warns."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

LARGE_BYTES = 1024 * 1024


@contextmanager
def unwarned(body: bytes | None) -> Iterator[None]:
    """Send a large body without a warning: a message is one piece, and is copied in a moment."""
    if body is None or len(body) < LARGE_BYTES:
        yield
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sending a large body", ResourceWarning)
        yield
