"""What is begun as a stream, in both twins, and what is handed on as it is."""

from __future__ import annotations

import copy
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock, MagicMock, NonCallableMagicMock

import pytest

from sapwood.session.streams import AsyncStreams, Streams


@pytest.mark.parametrize("in_thread", [False, True])
async def test_a_plain_generator_is_begun_on_the_loop_unless_asked(in_thread: bool) -> None:
    threads: list[threading.Thread] = []

    def items() -> Iterator[int]:
        threads.append(threading.current_thread())
        yield 1
        yield 2

    assert list(await AsyncStreams.begin(items(), in_thread=in_thread)) == [1, 2]
    assert (threads != [threading.main_thread()]) is in_thread


async def test_a_plain_context_manager_is_entered_once() -> None:
    entered: list[threading.Thread] = []

    @contextmanager
    def manager() -> Iterator[str]:
        entered.append(threading.current_thread())
        yield "stream"
        entered.append(threading.current_thread())

    with await AsyncStreams.begin(manager(), in_thread=True) as stream:
        assert stream == "stream"
        assert len(entered) == 1
        assert entered != [threading.main_thread()]
    assert len(entered) == 2


class Response:
    """An answer as HTTP clients give them: it can be used at once, and closed by `with`."""

    def __init__(self) -> None:
        self.text = "calm sea"
        self.closed = False

    def __enter__(self) -> str:
        raise AssertionError("entered")

    def __exit__(self, *details: Any) -> None:
        self.closed = True

    async def __aenter__(self) -> str:
        raise AssertionError("entered")

    async def __aexit__(self, *details: Any) -> None:
        self.closed = True


@pytest.mark.parametrize("made", [Response, MagicMock, AsyncMock, NonCallableMagicMock])
async def test_an_answer_that_can_be_used_at_once_stays_what_it_is(made: Any) -> None:
    answer = made()
    assert Streams.begin(answer) is answer
    assert await AsyncStreams.begin(answer) is answer


async def test_a_file_stays_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "answer.txt"
    path.write_text("calm\nsea\n")
    with path.open() as answer:
        assert Streams.begin(answer) is answer
        assert await AsyncStreams.begin(answer) is answer
        assert answer.read() == "calm\nsea\n"


@contextmanager
def entered() -> Iterator[Iterator[int]]:
    yield iter([1, 2])


@asynccontextmanager
async def entered_by_a_loop() -> AsyncIterator[Iterator[int]]:
    yield iter([1, 2])


async def numbers() -> AsyncIterator[int]:
    yield 1


async def test_a_begun_stream_can_be_copied_and_has_no_private_names() -> None:
    streams = [
        Streams.begin(iter([1, 2])),
        Streams.begin(entered()),
        await AsyncStreams.begin(numbers()),
        await AsyncStreams.begin(entered_by_a_loop()),
    ]
    for stream in streams:
        assert type(copy.copy(stream)) is type(stream)
        assert not hasattr(stream, "_private")
        with pytest.raises(AttributeError, match="_private"):
            stream._private  # noqa: B018
