"""A naive model of a store, which shares no rule with any of them.

Messages point to their parents, and every question is answered by a walk.
"""

from .node import Cover, Home, Node, path_to
from .oracle import Oracle, Refused
from .session import Session, Shown

__all__ = ["Cover", "Home", "Node", "Oracle", "Refused", "Session", "Shown", "path_to"]
