"""A naive model of a store, which shares no rule with any of them.

Messages point to their parents, and every question is answered by a walk.
"""

from .node import Cover, Home, Node, path_to
from .oracle import Oracle, Refused
from .search import FOUND_BY, VOCABULARY, FoundByOracle, found_by
from .session import Session, Shown

__all__ = [
    "FOUND_BY",
    "VOCABULARY",
    "Cover",
    "FoundByOracle",
    "Home",
    "Node",
    "Oracle",
    "Refused",
    "Session",
    "Shown",
    "found_by",
    "path_to",
]
