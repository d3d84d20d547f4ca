"""What a store may do beyond what every store must."""

from __future__ import annotations

import enum


class Capability(enum.Enum):
    """Declared means tested; a call that needs an undeclared one is refused."""

    DURABLE = "durable"
    """What was acknowledged is still there when the store is opened again."""
    SHARED = "shared"
    """Several processes may write to it at once."""
    BACKUP = "backup"
    """It can be copied into a file while others write to it."""
    DATA = "data"
    """It keeps data at positions."""
