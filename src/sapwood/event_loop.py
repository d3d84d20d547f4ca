"""What is told to those who forget an event loop or to await on one, or mistake the twin."""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Callable, Coroutine, Generator
from functools import wraps
from types import FrameType
from typing import TYPE_CHECKING, Any, ClassVar, ParamSpec, TypeVar

from .errors import SapwoodWarning

P = ParamSpec("P")
T = TypeVar("T")
K = TypeVar("K")


class Unawaited(Coroutine[Any, Any, T]):
    """A coroutine that says what was forgotten when it is taken for what it gives."""

    __slots__ = ("_coroutine", "_name")

    def __init__(self, coroutine: Coroutine[Any, Any, T], name: str) -> None:
        self._coroutine = coroutine
        self._name = name

    def __await__(self) -> Generator[Any, Any, T]:
        return self._coroutine.__await__()

    def send(self, value: Any) -> Any:
        return self._coroutine.send(value)

    def throw(self, *details: Any) -> Any:
        return self._coroutine.throw(*details)

    def close(self) -> None:
        self._coroutine.close()

    def __getattr__(self, name: str) -> Any:
        if not name.startswith(("_", "cr_")):
            self._coroutine.close()  # it is told here, once
            raise AttributeError(
                f"{self._name} was not awaited: write `(await ....{self._name}(...)).{name}`"
            )
        return getattr(self._coroutine, name)

    # Hidden from type checkers, which know of these mistakes by themselves.
    if not TYPE_CHECKING:

        def __iter__(self) -> Any:
            raise self._forgotten("for it in await ....{}(...)")

        def __aiter__(self) -> Any:
            raise self._forgotten("for it in await ....{}(...)")

        def __enter__(self) -> Any:
            raise self._forgotten("it = await ....{}(...)")

        def __exit__(self, *details: object) -> None: ...

        async def __aenter__(self) -> Any:
            raise self._forgotten("it = await ....{}(...)")

        async def __aexit__(self, *details: object) -> None: ...

    def _forgotten(self, remedy: str) -> TypeError:
        self._coroutine.close()
        return TypeError(f"{self._name} was not awaited: write `{remedy.format(self._name)}`")


def reminding(method: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Let a method say that it has to be awaited, where its coroutine is taken for its answer."""

    @wraps(method)
    def called(*args: P.args, **keywords: P.kwargs) -> Coroutine[Any, Any, T]:
        return Unawaited(method(*args, **keywords), method.__name__)

    # Others ask whether it is one, as frameworks do.
    if hasattr(inspect, "markcoroutinefunction"):
        inspect.markcoroutinefunction(called)
    return called


def reminding_all(kind: type[K]) -> type[K]:
    """Let all public methods of a class say so that have to be awaited."""
    for name, method in list(vars(kind).items()):
        if not name.startswith("_") and inspect.iscoroutinefunction(method):
            setattr(kind, name, reminding(method))
    return kind


class AsyncEntering:
    """Refuses `with` where it is `async with`."""

    _opened_by: ClassVar[str] = ""
    """What gives such an object, without the suffix of the async twin."""

    if not TYPE_CHECKING:

        def __enter__(self) -> Any:
            name, made = type(self).__name__, self._opened_by
            also = f"`with {made}(...)`" if made else f"`with` and {name.removeprefix('Async')}"
            one = f"`async with {made}_async(...)`" if made else "`async with`"
            raise TypeError(f"{name} is for an event loop: use {one}, or {also} without a loop")

        def __exit__(self, *details: object) -> None: ...


class Entering:
    """Refuses `async with` where it is `with`."""

    _opened_by: ClassVar[str] = ""

    if not TYPE_CHECKING:

        async def __aenter__(self) -> Any:
            name, made = type(self).__name__, self._opened_by
            one = f"`with {made}(...)`" if made else "`with`"
            also = f"`async with {made}_async(...)`" if made else f"`async with` and Async{name}"
            raise TypeError(f"{name} is used without await: use {one}, or {also} on an event loop")

        async def __aexit__(self, *details: object) -> None: ...


def twin_of(name: str) -> str:
    """Return what a class of the other twin is called."""
    return name.removeprefix("Async") if name.startswith("Async") else f"Async{name}"


class _Told:
    """Whether somebody was warned in this process: once is enough."""

    yet = False


def warn_on_loop() -> None:
    """Warn, once, that a call which blocks is made on a running event loop."""
    asyncio = sys.modules.get("asyncio")
    if _Told.yet or asyncio is None or asyncio._get_running_loop() is None:
        return
    # A notebook has a loop of its own, which waits for its cells.
    if "ipykernel" in sys.modules:
        return
    _Told.yet = True
    level, called = _caller()
    here = called.f_locals.get("self")
    name = f"Async{type(here).__name__}.{called.f_code.co_name}"
    warnings.warn(
        f"this call blocks the event loop that it is made on: open the store with "
        f"sapwood.open_async, and await {name}",
        SapwoodWarning,
        stacklevel=level,
    )


def _caller() -> tuple[int, FrameType]:
    """Return how far up the stack the user's code is, and the method of ours that it called."""
    package = __name__.partition(".")[0]
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None:
        above = frame.f_back
        level += 1
        if above.f_globals.get("__name__", "").partition(".")[0] != package:
            break
        frame = above
    return level, frame
