"""How much was tried: steps of the state machine, runs with concurrent writers."""

from __future__ import annotations

from collections import Counter

COUNTS: Counter[str] = Counter()
"""What was done so far in this process, by name; print it at the end of a test run."""
