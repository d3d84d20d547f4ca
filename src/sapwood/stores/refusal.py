"""Why PostgreSQL let a connection not begin: its driver tells it in words and without a code."""

from __future__ import annotations

import re

# The words of PostgreSQL and of PgBouncer. A server that speaks another language is not understood,
# and is then taken for one that cannot be reached.
_PASSWORD = "password authentication failed|no password supplied|SASL authentication failed"
_USER = r'FATAL: +(role ".*" (does not exist|is not permitted to log in)|no such user)'
_HOST = r"FATAL: +(no pg_hba\.conf entry|pg_hba\.conf rejects)"
_DATABASE = r'FATAL: +(database ".*" does not exist|no such database)'
_STATES = {"28P01": _PASSWORD, "28000": f"{_USER}|{_HOST}", "3D000": _DATABASE}


def state_of_refusal(told: str) -> str | None:
    """Return the SQLSTATE by which a server refuses a connection for good; else None."""
    return next((state for state, words in _STATES.items() if re.search(words, told)), None)
