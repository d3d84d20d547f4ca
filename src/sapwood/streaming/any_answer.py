"""What a model may give, a stream or not, as what an event stream reads; in both twins."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

from ..calls import AsyncCall
from ..errors import UsageError
from ..formats import usage_of_completion, usage_of_message
from ..formats.recognition import read_messages
from ..model import NewMessage

_END = object()


class AsyncAnyAnswer:
    """On an event loop."""

    @staticmethod
    def stream(value: Any, *, in_thread: bool) -> Any:
        """Return the stream of whatever a model gave; a plain one is read on the loop, or not."""
        items = _whole(value)
        if items is None and (
            hasattr(type(value), "__aiter__") or hasattr(type(value), "__aenter__")
        ):
            return value
        return _fetched(value, in_thread) if items is None else _fetched(items, False)


class AnyAnswer:
    """Without an event loop."""

    @staticmethod
    def stream(value: Any, *, in_thread: bool) -> Any:
        """Return the stream of whatever a model gave."""
        items = _whole(value)
        return value if items is None else items


def _whole(value: Any) -> list[Any] | None:
    """Return the pieces of an answer that did not come as a stream; None for one that did."""
    if isinstance(value, str):
        return [value]
    if value is None or isinstance(value, bytes):
        raise UsageError(f"the model gave {value!r:.40}: return a text or a stream", path="model")
    if isinstance(value, NewMessage):
        return list(value.parts)
    if not (isinstance(value, Mapping) or hasattr(value, "model_dump")):
        return None
    is_plain = isinstance(value, Mapping)
    choices: Any = value.get("choices") if is_plain else getattr(value, "choices", None)
    usage = usage_of_completion(value) if choices else usage_of_message(value)
    if choices:
        value = choices[0]["message"] if is_plain else choices[0].message
    [message] = read_messages([(value, "message")])
    return [*message.parts, *([] if usage is None else [usage])]


async def _fetched(items: Any, in_thread: bool) -> AsyncIterator[Any]:
    """Yield the items of a plain iterable, which may wait for them."""
    plain = _PlainItems(items)
    try:
        while True:
            item = await AsyncCall.within(None, plain.take, in_thread=in_thread)
            if item is _END:
                return
            yield item
    finally:
        plain.close()


class _PlainItems:
    """A plain iterable, which may be left while a thread still waits for its next item."""

    def __init__(self, items: Any) -> None:
        self._items = items
        self._iterator: Iterator[Any] | None = None
        self._in_use = threading.Lock()
        self._is_left = self._is_closed = False

    def take(self) -> Any:
        """Return the next item, or `_END`."""
        try:
            with self._in_use:
                if self._is_left:
                    return _END
                if self._iterator is None:
                    self._iterator = iter(self._items)
                return next(self._iterator, _END)
        finally:
            if self._is_left:
                self.close()

    def close(self) -> None:
        """Close it, at once or as soon as the thread has its item."""
        self._is_left = True
        if not self._in_use.acquire(blocking=False):
            return
        try:
            if not self._is_closed and hasattr(self._items, "close"):
                self._is_closed = True
                self._items.close()
        finally:
            self._in_use.release()
