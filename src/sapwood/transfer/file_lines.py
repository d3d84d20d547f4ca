"""Reading a file line by line; what is wrong with its shape is told here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from ..errors import UsageError
from .lines import EndLine, FileLine, MessageLine, SessionLine, decode_header, decode_line, wrong

MAX_LINE_BYTES = 256 * 1024 * 1024


class NumberedLine(NamedTuple):
    """A line, its number, and its size."""

    number: int
    line: FileLine
    size: int


def iter_lines(file: BinaryIO) -> Iterator[NumberedLine]:
    """Read a file from its beginning: all lines between the header and the last one."""
    file.seek(0)
    header, *_ = next(_iter_raw(file), (b"",))
    decode_header(header)
    sessions = messages = 0
    number, is_ended = 1, False
    for data, number in _iter_raw(file, 1):
        if is_ended:
            raise wrong(number, "comes after the end")
        line = decode_line(data, number)
        if isinstance(line, EndLine):
            is_ended = True
            _compare(line, sessions, messages, number)
            continue
        sessions += isinstance(line, SessionLine)
        messages += isinstance(line, MessageLine)
        if not sessions and not _may_come_first(line):
            raise wrong(number, "belongs to no session")
        yield NumberedLine(number, line, len(data))
    if not is_ended:
        raise UsageError(
            f"the file ends after line {number} without its last line: it was cut off",
            path=f"line {number}",
        )


def _iter_raw(file: BinaryIO, number: int = 0) -> Iterator[tuple[bytes, int]]:
    while data := file.readline(MAX_LINE_BYTES):
        number += 1
        if len(data) == MAX_LINE_BYTES:
            raise wrong(number, f"is longer than {MAX_LINE_BYTES} bytes")
        if data.strip():
            yield data, number


def _may_come_first(line: FileLine) -> bool:
    return line.__struct_config__.tag == "document"


def _compare(end: EndLine, sessions: int, messages: int, number: int) -> None:
    if (end.sessions, end.messages) != (sessions, messages):
        raise wrong(
            number,
            f"counts {end.sessions} sessions and {end.messages} messages, and the file has "
            f"{sessions} and {messages}: lines are missing",
        )
