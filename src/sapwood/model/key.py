"""Keys of sessions: which agent speaks, over which channel, to whom, in which thread."""

from __future__ import annotations

import re

import msgspec

from ..errors import UsageError

EVERY = "*"
"""What stands in a reduced key for a part that does not set sessions apart."""

# What a printed part cannot hold as it is: the sign between parts, that of escapes, and controls.
_ESCAPED = re.compile("[%:\x00-\x1f\x7f-\x9f]")
_ESCAPE = re.compile("%([0-9A-F]{2})")


class SessionKey(msgspec.Struct, frozen=True):
    """Which conversation is meant, from the whole to the part; any text that is not empty.

    Printed as `agent:channel:peer[:thread]`. A colon, a percent sign and a control character in a
    part are written as `%` and two hexadecimal digits, so that no two keys are printed alike.
    """

    agent: str
    channel: str
    peer: str
    thread: str | None = None

    def __post_init__(self) -> None:
        for name in ("agent", "channel", "peer"):
            _check_part(getattr(self, name), name)
        if self.thread is not None:
            _check_part(self.thread, "thread")

    def __str__(self) -> str:
        return ":".join(_ESCAPED.sub(_escape_of, part) for part in self.parts)

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts that there are, as a session's record keeps them in `system.key`."""
        whole = (self.agent, self.channel, self.peer)
        return whole if self.thread is None else (*whole, self.thread)

    @classmethod
    def parse(cls, text: str) -> SessionKey:
        """Read a key as it is printed; raise `UsageError` for any other text."""
        if not isinstance(text, str):
            raise UsageError(f"a key is read from a string, not from {text!r}", path="key")
        parts = [_ESCAPE.sub(_char_of, part) for part in text.split(":")]
        if not 3 <= len(parts) <= 4:
            raise UsageError(
                f"the key {text!r} has {len(parts)} parts: write agent:channel:peer or "
                "agent:channel:peer:thread, and a colon within a part as %3A",
                path="key",
            )
        key = cls(*parts)
        if str(key) != text:
            raise UsageError(
                f"the key {text!r} is not written as a key is, which is {str(key)!r}: escape with "
                "%25 a percent sign, with %3A a colon, and nothing that needs no escape",
                path="key",
            )
        return key


class Isolation(msgspec.Struct, frozen=True, kw_only=True):
    """Which parts of a key set sessions apart; what is switched off, they share."""

    by_agent: bool = True
    by_channel: bool = True
    by_peer: bool = True
    by_thread: bool = False

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            if not isinstance(getattr(self, name), bool):
                raise UsageError(f"{name} must be True or False", path=f"isolation.{name}")

    def reduce(self, key: SessionKey) -> SessionKey:
        """Return the key that a session is kept under; a reduced key stays as it is.

        A thread that is switched off is left out, and any other part becomes `*`. A part that is
        kept and is itself `*` is refused: it would be taken for all of them.
        """
        return SessionKey(
            _kept(key.agent, "agent", is_kept=self.by_agent),
            _kept(key.channel, "channel", is_kept=self.by_channel),
            _kept(key.peer, "peer", is_kept=self.by_peer),
            key.thread if self.by_thread else None,
        )


def _check_part(value: object, name: str) -> None:
    path = f"key.{name}"
    if not isinstance(value, str):
        raise UsageError(f"the {name} of a key must be a string, not {value!r}", path=path)
    if not value:
        raise UsageError(f"the {name} of a key is empty: give its name", path=path)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise UsageError(f"the {name} of a key {value!r} has a lone surrogate", path=path) from None


def _kept(part: str, name: str, *, is_kept: bool) -> str:
    if not is_kept:
        return EVERY
    if part == EVERY:
        raise UsageError(
            f"the {name} {part!r} stands for every {name}: use another name", path=f"key.{name}"
        )
    return part


def _escape_of(found: re.Match[str]) -> str:
    return f"%{ord(found[0]):02X}"


def _char_of(found: re.Match[str]) -> str:
    return chr(int(found[1], 16))
