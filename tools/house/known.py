"""What `check.py` would complain of, and is still to be mended. This list only shrinks."""

from __future__ import annotations

NAMES = """
    Appends Args AsyncAppends Block Candidate Change Cover Cursor Durability End Entry Found
    Key Mark Name Outcome Packed Part Piece Place Question Ranges Row Said Scope
    Segment SessionRow Shown Sieve State Step Told View Wanted Work _Desk
"""
CLASSES = """
    AsyncDurableStoreContract
"""
FUNCTIONS = ""
FILES = "sapwood/store/_async/contract.py"

_KINDS = {"name": NAMES, "class": CLASSES, "function": FUNCTIONS, "file": FILES}
KNOWN = [f"{kind} {name}" for kind, names in _KINDS.items() for name in names.split()]
