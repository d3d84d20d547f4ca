"""Several calls at once, and models' answers of any kind as streams, in both twins."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, TypeVar

from ..calls import AsyncAnswer, AsyncCall
from ..errors import UsageError
from ..formats import usage_of_completion, usage_of_message
from ..model import NewMessage
from ..session.content import as_new_message
from ..streaming import AsyncEventStream, EventStream

T = TypeVar("T")
_END = object()


class AsyncTogether:
    """On an event loop."""

    @staticmethod
    async def run(works: Sequence[Callable[[], AsyncAnswer[T]]]) -> list[T]:
        """Do all at once; one that fails ends the others, and a caller that is cancelled all."""
        import asyncio

        tasks = [asyncio.ensure_future(work()) for work in works]
        try:
            return list(await asyncio.gather(*tasks))
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    @staticmethod
    def stream(value: Any, model: str) -> AsyncEventStream:
        """Return the events of whatever a model gave."""
        whole = whole_answer(value)
        if whole is not None or not _is_async(value):
            value = _in_threads(value if whole is None else whole)
        return AsyncEventStream(value, model=model)


class Together:
    """Without an event loop."""

    @staticmethod
    def run(works: Sequence[Callable[[], T]]) -> list[T]:
        """Do all at once, in threads; all of them end before an error is raised."""
        if len(works) == 1:
            return [works[0]()]
        with ThreadPoolExecutor(max(1, len(works))) as pool:
            futures = [pool.submit(copy_context().run, work) for work in works]
        return [future.result() for future in futures]

    @staticmethod
    def stream(value: Any, model: str) -> EventStream:
        """Return the events of whatever a model gave."""
        whole = whole_answer(value)
        return EventStream(value if whole is None else whole, model=model)


def whole_answer(value: Any) -> list[Any] | None:
    """Return the pieces of an answer that did not come as a stream; None for one that did."""
    if isinstance(value, str):
        return [value]
    if value is None or isinstance(value, bytes):
        raise UsageError(f"the model gave {value!r:.40}: return a text or a stream", path="model")
    if not (isinstance(value, (NewMessage, Mapping)) or hasattr(value, "model_dump")):
        return None
    is_plain = isinstance(value, Mapping)
    choices: Any = value.get("choices") if is_plain else getattr(value, "choices", None)
    usage = None
    if choices:
        usage = usage_of_completion(value)
        value = choices[0]["message"] if is_plain else choices[0].message
    elif not isinstance(value, NewMessage):
        usage = usage_of_message(value)
    message = as_new_message(value, None, None)
    return [*message.parts, *([] if usage is None else [usage])]


def _is_async(value: Any) -> bool:
    return hasattr(type(value), "__aiter__") or hasattr(type(value), "__aenter__")


async def _in_threads(items: Any) -> AsyncIterator[Any]:
    """Fetch the items of an iterable that may wait, so that the loop does not."""
    if isinstance(items, list):
        for piece in items:
            yield piece
        return
    iterator = iter(items)
    try:
        while True:
            fetched = await AsyncCall.within(None, next, iterator, _END)
            if fetched is _END:
                return
            yield fetched
    finally:
        close = getattr(items, "close", None)
        if close is not None:
            close()
