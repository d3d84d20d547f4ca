"""Which names may be put before ours."""

from __future__ import annotations

import re

from ...errors import UsageError

_PREFIX = re.compile(r"(?:[A-Za-z_][A-Za-z0-9_]{0,29})?")


def check_prefix(prefix: str) -> str:
    """Check what table names begin with, and give it."""
    if not isinstance(prefix, str) or not _PREFIX.fullmatch(prefix):
        raise UsageError(
            "prefix must be up to 30 letters, digits and underscores, and begin with no digit",
            path="prefix",
        )
    return prefix
