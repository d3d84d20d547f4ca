"""A kind of server that is measured: how it is started, and what is compared with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from raw_side import Raw


class Running(Protocol):
    """A server that was started for this run."""

    def url(self) -> str:
        """Return the address that our store is opened by."""
        ...

    def remove(self) -> None:
        """Stop it, and remove its files."""
        ...


def _same(url: str) -> str:
    return url


@dataclass(frozen=True, kw_only=True)
class ServerKind:
    """A server and its bars. `pace` scales repetitions.

    `deep` is how long a session is that is appended to, `long` one whose end is read. `looks_up`
    says whether look-ups are to cost what they find. `peers` names classes of the module `peers`.
    """

    name: str
    start: Callable[[], Running]
    raw: Callable[[str], Raw]
    raw_url: Callable[[str], str] = _same
    url: Callable[[str], str] = _same
    append_bar: float
    deep: int = 100_000
    long: int = 100_000
    pace: float = 1.0
    looks_up: bool = True
    peers: tuple[str, ...] = ()
