"""What `check.py` would complain of, and is still to be mended. This list only shrinks."""

from __future__ import annotations

NAMES = """
    Appends Args AsyncAppends Block Candidate Change Cover Cursor Durability End Entry Facts Found
    Key Kind Mark Name Outcome Packed Page Part Piece Place Profile Question Ranges Row Said Scope
    Seen Segment SessionRow Shown Sieve Span State Step Told View Wanted Work _Answers _Desk
"""
CLASSES = """
    AsyncCompacting AsyncCompactor AsyncOverlaying AsyncSession AsyncTree AsyncTurning AsyncUndoing
    AsyncWatching
"""
FUNCTIONS = ""
FILES = ""

_KINDS = {"name": NAMES, "class": CLASSES, "function": FUNCTIONS, "file": FILES}
KNOWN = [f"{kind} {name}" for kind, names in _KINDS.items() for name in names.split()]
