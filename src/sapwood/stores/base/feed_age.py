"""For how long the change feed is kept."""

from __future__ import annotations

KEPT_AT_LEAST_US = 24 * 3600 * 1_000_000
"""How long a change is kept, whoever has seen it."""
KEPT_AT_MOST_US = 30 * KEPT_AT_LEAST_US
"""How old what a reader has yet to see may be, before the reader is taken for lost."""
