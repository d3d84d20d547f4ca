"""The names of keys: all of a tree have one hash tag, all of an owner another."""

from __future__ import annotations

PREFIX = "sapwood"
_QUOTED = str.maketrans({"%": "%25", "{": "%7B", "}": "%7D"})


class RedisKeys:
    """The names of keys under a prefix."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.schema = f"{prefix}:schema"
        self.owners = f"{prefix}:owners"

    def tree(self, tree: str, part: str = "t") -> str:
        """Name a key of a tree."""
        return f"{self.prefix}:{{{tree}}}:{part}"

    def owner(self, owner: str, part: str = "t") -> str:
        """Name a key of an owner; a brace in the name must not end the tag."""
        return f"{self.prefix}:{{o:{owner.translate(_QUOTED)}}}:{part}"
