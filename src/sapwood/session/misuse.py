"""What is told to those who take one twin for the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any


class AsyncEntering:
    """Refuses `with` where it is `async with`."""

    # Hidden from type checkers, which know of the mistake by themselves.
    if not TYPE_CHECKING:

        def __enter__(self) -> Any:
            raise TypeError(
                f"{type(self).__name__} is for an event loop: use `async with "
                "sapwood.open_async(...)`, or `with sapwood.open(...)` without a loop"
            )

        def __exit__(self, *details: object) -> None: ...


class Entering:
    """Refuses `async with` where it is `with`."""

    if not TYPE_CHECKING:

        async def __aenter__(self) -> Any:
            raise TypeError(
                f"{type(self).__name__} is used without await: use `with sapwood.open(...)`, or "
                "`async with sapwood.open_async(...)` on an event loop"
            )

        async def __aexit__(self, *details: object) -> None: ...
