"""A naive model of a store, which shares no rule with any of them.

Messages point to their parents, and every question is answered by a walk.
"""

from .base import Refused
from .node import Cover, Home, Node, data_node, path_to, spelt, versions_above
from .oracle import Oracle
from .search import FOUND_BY, VOCABULARY, FoundByOracle, found_by
from .session import Kept, Session, Shown
from .units import NOTHING, Along

__all__ = [
    "FOUND_BY",
    "NOTHING",
    "VOCABULARY",
    "Along",
    "Cover",
    "FoundByOracle",
    "Home",
    "Kept",
    "Node",
    "Oracle",
    "Refused",
    "Session",
    "Shown",
    "data_node",
    "found_by",
    "path_to",
    "spelt",
    "versions_above",
]
