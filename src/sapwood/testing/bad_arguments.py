"""Arguments that are wrong whatever is stored."""

from __future__ import annotations

from typing import Any

NAMES: dict[str, Any] = {
    "empty": "",
    "a newline": "a\nb",
    "a null": "a\0",
    "an escape": "\x1b[0m",
    "a C1 control": "a\x85",
    "delete": "\x7f",
    "a lone surrogate": "a\ud800",
    "257 bytes": "x" * 257,
    "258 bytes of two each": "é" * 129,
    "bytes": b"s",
    "a number": 7,
    "a list": ["s"],
    "nothing": None,
}
"""What is no name: for owners, sessions, ids, labels."""

TOO_LONG = ("257 bytes", "258 bytes of two each")
KEYS: dict[str, Any] = {
    **{name: value for name, value in NAMES.items() if name not in TOO_LONG},
    "1025 bytes": "x" * 1025,
    "1026 bytes of two each": "é" * 513,
}
"""What is no key of a document, which may be longer."""


def nested(depth: int) -> list[Any]:
    """Nest lists deeply."""
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


VALUES: dict[str, Any] = {
    "not a number": float("nan"),
    "infinity": float("inf"),
    "minus infinity in a list": [1, -float("inf")],
    "a number as a key": {1: 2},
    "nothing as a key": {None: 1},
    "a tuple": (1, 2),
    "a set": {1},
    "bytes": b"x",
    "an object": object(),
    "a lone surrogate": "a\udfff",
    "a lone surrogate as a key": {"\ud800": 1},
    "deeply wrong": {"a": [{"b": {"c": {3}}}]},
    "deeply nested": nested(100_000),
}
"""What is no JSON, at any depth."""
