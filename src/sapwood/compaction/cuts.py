"""Long texts and JSON values cut short, with a mark that says how much is missing.

JSON is cut in its own shape: what was an object, a list or a text stays one.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

import msgspec

from ..rules.tokens import estimate_text

SHORTEST = 60
"""A limit below this may be exceeded by the length of the mark."""
SMALLEST = 48
"""The length of JSON in which any value can be said to have been cut, in its own shape."""

MARK = "__cut__"
_MAX_DEPTH = 8
_TOO_DEEP = 2**60


def cut_middle(text: str, limit: int) -> str:
    """Cut the middle out of a text that is longer than so many characters, never to grow."""
    if len(text) <= limit:
        return text
    room = limit - len(_gap(len(text)))
    if limit < SHORTEST:
        room = limit
    head = room - room // 3
    tail = text[len(text) - room // 3 :]
    cut = text[:head] + _gap(len(text) - room) + tail
    return cut if len(cut) < len(text) else text


def _gap(count: int) -> str:
    return f" [... {count} characters cut ...] "


def cut_to_tokens(text: str, max_tokens: int) -> str:
    """Cut the middle out of a text until its estimate is at most so many tokens."""
    if estimate_text(text) <= max_tokens:
        return text
    cut = cut_middle(
        text,
        most_that_fits(
            SHORTEST, len(text), lambda n: estimate_text(cut_middle(text, n)) <= max_tokens
        ),
    )
    return cut if estimate_text(cut) <= max_tokens else _start_of(text, max_tokens)


def most_that_fits(least: int, most: int, fits: Callable[[int], bool]) -> int:
    """Find the largest number that fits, by halves; the least is not tried."""
    while least < most:
        middle = (least + most + 1) // 2
        if fits(middle):
            least = middle
        else:
            most = middle - 1
    return least


def _start_of(text: str, max_tokens: int) -> str:
    """Return what fits of the start, for when there is no room for a mark."""
    kept = text[:SHORTEST]
    while kept and estimate_text(kept + "…") > max_tokens:
        kept = kept[:-1]
    return kept + "…" if kept else ""


def shown_json(value: Any) -> str:
    """Return a value as JSON; what JSON does not know, or nests too deeply, as Python has it."""
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        return f"[{type(value).__name__} that cannot be shown as JSON]"


def cut_value(value: Any, limit: int) -> Any:
    """Cut a JSON value until it has at most so many characters as JSON, and not below `SMALLEST`.

    A text by itself is measured as it is. Objects and lists keep their first items and a mark that
    says how many are missing; the largest items are cut first. What is nested deeper than eight
    levels is cut to its mark. A value that fits is given back itself.
    """
    if isinstance(value, str):
        return value if len(value) <= limit else _cut_text(value, limit, plain=True)
    return _cut(value, max(limit, SMALLEST), 0)


def _cut(value: Any, room: int, depth: int) -> Any:
    if _size(value) <= room:
        return value
    if isinstance(value, str):
        return _cut_text(value, room)
    if isinstance(value, dict):
        return _cut_dict(value, room, depth)
    if isinstance(value, list):
        return _cut_list(value, room, depth)
    return value


def _size(value: Any) -> int:
    """Return the length of a value as JSON; more than any limit if it is nested too deeply."""
    try:
        return len(msgspec.json.encode(value).decode())
    except RecursionError:
        return _TOO_DEEP
    except (TypeError, ValueError, msgspec.MsgspecError):
        return 0  # no JSON: not ours to cut


def _cut_text(text: str, room: int, plain: bool = False) -> str:
    """Keep as much of the start of a text as fits together with its mark."""
    size = len if plain else _size
    kept = most_that_fits(0, min(len(text), room), lambda n: size(_marked(text, n)) <= room)
    cut = _marked(text, kept)
    return cut if size(cut) < size(text) else text


def _marked(text: str, kept: int) -> str:
    return f"{text[:kept]}... [{len(text) - kept} characters cut]"


def _cut_dict(value: dict[str, Any], room: int, depth: int) -> dict[str, Any]:
    sizes = {key: (_size(key) + 2, child) for key, child in islice(value.items(), room)}
    rooms = _share(list(sizes.values()), len(value), room) if depth < _MAX_DEPTH else []
    kept = {
        key: _cut(child, share, depth + 1)
        for (key, (_, child)), share in zip(sizes.items(), rooms, strict=False)
    }
    if len(kept) < len(value):
        kept[MARK] = f"{len(value) - len(kept)} more"
    return kept


def _cut_list(value: list[Any], room: int, depth: int) -> list[Any]:
    items = [(1, child) for child in value[:room]]
    rooms = _share(items, len(value), room) if depth < _MAX_DEPTH else []
    kept = [_cut(child, share, depth + 1) for (_, child), share in zip(items, rooms, strict=False)]
    if len(kept) < len(value):
        kept.append(f"[{len(value) - len(kept)} more cut]")
    return kept


def _share(items: list[tuple[int, Any]], count: int, room: int) -> list[int]:
    """Share the room out among the first items, as many as fit; each has a frame and a value."""
    sizes = [_size(child) for _, child in items]
    least = [frame + min(size, SMALLEST) for (frame, _), size in zip(items, sizes, strict=True)]
    if len(items) == count and sum(least) + 2 <= room:
        fitting, free = count, room - 2 - sum(least)
    else:
        fitting, free = _how_many(least, room - 2 - SMALLEST)
    return _levelled([min(size, SMALLEST) for size in sizes[:fitting]], sizes[:fitting], free)


def _how_many(least: list[int], room: int) -> tuple[int, int]:
    fitting = 0
    while fitting < len(least) and least[fitting] <= room:
        room -= least[fitting]
        fitting += 1
    return fitting, max(room, 0)


def _levelled(shares: list[int], wanted: list[int], free: int) -> list[int]:
    """Raise the shares towards what is wanted, the smallest wishes first."""
    order = sorted(range(len(shares)), key=lambda index: wanted[index])
    for done, index in enumerate(order):
        more = min(wanted[index] - shares[index], free // (len(order) - done))
        shares[index] += more
        free -= more
    return shares
