"""Wait for the next piece of an answer, and for the time to store what came, whichever is first."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator
from contextlib import closing

from .events import ModelError, Piece, Pieces

# An endpoint may send a whole page of HTML as its error.
MOST_TOLD = 500
_Item = Piece | Exception | None


def pumped(start: Callable[[], Pieces], tick_s: float) -> Generator[Piece | None, None, None]:
    """Give the pieces as they come, and None when none came for so long.

    They are read in a thread, so that neither a slow model nor the store holds up the other, and
    Ctrl-C is heard at once. A reader that leaves early ends the thread at the next piece.
    """
    items: queue.SimpleQueue[_Item] = queue.SimpleQueue()
    is_over = threading.Event()
    threading.Thread(target=_read, args=(start, items, is_over), daemon=True).start()
    try:
        while True:
            try:
                item = items.get(timeout=tick_s)
            except queue.Empty:
                yield None
                continue
            if item is None:
                return
            if isinstance(item, Exception):
                raise ModelError(f"{type(item).__name__}: {item}"[:MOST_TOLD]) from item
            yield item
    finally:
        is_over.set()


def _read(
    start: Callable[[], Pieces],
    items: queue.SimpleQueue[_Item],
    is_over: threading.Event,
) -> None:
    try:
        # Closing the pieces closes the connection that they come from.
        with closing(start()) as pieces:
            for piece in pieces:
                if is_over.is_set():
                    break
                items.put(piece)
    except Exception as error:  # noqa: BLE001 - raised again by whoever waits
        items.put(error)
    else:
        items.put(None)
