"""What `check.py` would complain of, and is still to be mended. This list only shrinks."""

from __future__ import annotations

NAMES = """
    Advance Answer Appends Args Asked AsyncAppends AsyncContext AsyncMigrator AsyncReading Block
    Call Candidate Change Command Cover Cursor Durability End Entry Facts Follower Found Held Key
    Kind Known Line Mark Name Names Outcome Packed Page Part Piece Place Profile Progress Question
    Range Ranges Row Said Scope Seen Segment SessionRow Shown Sieve Sight Span Spot State Step
    Stored StoredEntry Strategy Text Texts Told Tree View Wanted Where Work _Answers _Copy _Desk
    _End _Event _Part _Scope _Window
"""
CLASSES = """
    AsyncCompacting AsyncCompactor AsyncDurableStoreContract AsyncOverlaying AsyncSession AsyncTree
    AsyncTurning AsyncUndoing AsyncWatching
"""
FUNCTIONS = ""
FILES = "sapwood/store/_async/contract.py"

_KINDS = {"name": NAMES, "class": CLASSES, "function": FUNCTIONS, "file": FILES}
KNOWN = [f"{kind} {name}" for kind, names in _KINDS.items() for name in names.split()]
