"""Messages made to fit a budget: older ones made short, and a last resort before a call."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TypeVar

import msgspec

from ..errors import ContextOverflowError
from ..model import Message, ModelMessage, Part, TextPart, ToolCallPart, ToolResultPart
from ..rules import check
from ..rules.wording import counted
from .cuts import cut_middle, cut_value
from .repair import is_summary, repair_messages

T = TypeVar("T", Message, ModelMessage)

MessageCounter = Callable[[ModelMessage], int]

KEEP_RECENT = 4

MAX_TOOL_OUTPUT_CHARS = 500
MAX_TEXT_CHARS = 10_000


def truncate_older_messages(
    messages: Sequence[T],
    *,
    keep_recent: int = KEEP_RECENT,
    max_tool_output_chars: int = MAX_TOOL_OUTPUT_CHARS,
    max_text_chars: int = MAX_TEXT_CHARS,
) -> list[T]:
    """Shorten the texts and tool outputs of all but the last messages.

    Gives new messages; those that need no cut are given back as they are. A tool output keeps its
    shape, an object stays an object; a text loses its middle to a mark that says how many
    characters were cut. Limits of less than about 50 characters may be exceeded by the marks.
    """
    check.count(keep_recent, "keep_recent", 0)
    check.count(max_tool_output_chars, "max_tool_output_chars", 1)
    check.count(max_text_chars, "max_text_chars", 1)
    older = max(len(messages) - keep_recent, 0)
    return [
        shorten_message(message, max_tool_output_chars, max_text_chars)
        if index < older
        else message
        for index, message in enumerate(messages)
    ]


def shorten_message(
    message: T, output_chars: int, text_chars: int, input_chars: int | None = None
) -> T:
    """Shorten one message; it is given back itself when nothing in it is too long."""
    parts = [_shorter(part, output_chars, text_chars, input_chars) for part in message.parts]
    if all(new is old for new, old in zip(parts, message.parts, strict=True)):
        return message
    return msgspec.structs.replace(message, parts=parts)


def _shorter(part: Part, output_chars: int, text_chars: int, input_chars: int | None) -> Part:
    match part:
        case TextPart(text=text) if len(text) > text_chars:
            cut = cut_middle(text, text_chars)
            return part if cut == text else msgspec.structs.replace(part, text=cut)
        case ToolResultPart(output=output):
            value = cut_value(output, output_chars)
            return part if value is output else msgspec.structs.replace(part, output=value)
        case ToolCallPart(input=given) if input_chars is not None:
            value = cut_value(given, input_chars)
            return part if value is given else msgspec.structs.replace(part, input=value)
        case _:
            return part


class Fitted(msgspec.Struct, frozen=True, kw_only=True):
    """Messages within a budget, and the ids of those that are not shown, or not whole."""

    messages: list[ModelMessage]
    left_out: list[str]
    shortened: list[str]
    tokens: int


def fit_messages(
    messages: Sequence[ModelMessage],
    budget: int,
    count: MessageCounter,
    *,
    keep: Collection[str] = (),
) -> Fitted:
    """Make messages fit into so many tokens, with as little loss as possible.

    In this order, and only as far as needed: old tool outputs and texts are shortened; the oldest
    messages before the user's last one are left out; the rest is shortened; the steps since the
    user's last message are left out, but for the last one; so are messages whose ids are in
    `keep`, such as pins; then summaries; and what remains is shortened as far as it goes. A call
    and its results go together. The user's last message stays, and no word of it is cut. What comes
    out is valid for a model. When it still does not fit, `ContextOverflowError` says how much it
    needs.
    """
    check.count(budget, "budget", 0)
    fitting = _BudgetFit(repair_messages(messages), budget, count, set(keep))
    fitting.run()
    if fitting.tokens > budget:
        raise ContextOverflowError(
            f"the messages that cannot be left out need {counted(fitting.tokens, 'token')}, and "
            f"the budget is {budget}: raise the budget, or make the last messages shorter"
        )
    return fitting.result()


class _BudgetFit:
    """Messages on their way to fit. Those that go together are one unit."""

    def __init__(
        self, messages: list[ModelMessage], budget: int, count: MessageCounter, keep: set[str]
    ) -> None:
        self._before = messages
        self._messages = [*messages]
        self._count = count
        self._costs = [count(message) for message in messages]
        self._budget = budget
        self._units = list(_units(messages))
        self._gone: set[int] = set()
        self._asked = _last_asked(messages)
        self._summaries = {at for at, message in enumerate(messages) if is_summary(message)}
        self._kept = {
            at for unit in self._units if any(messages[at].id in keep for at in unit) for at in unit
        }
        self.tokens = sum(self._costs)

    def run(self) -> None:
        """Take one measure after the other until everything fits."""
        everything = set(range(len(self._messages)))
        rest = everything - self._summaries - {self._asked}
        last = set(self._units[-1]) if self._units else set()
        self._shorten({at for at in rest if at < len(everything) - KEEP_RECENT}, 500, 10_000)
        self._leave_out({at for at in rest if at < self._asked} - self._kept)
        self._shorten(rest, 2_000, 10_000)
        self._leave_out(rest - self._kept - last)
        self._shorten(rest, 500, 2_000)
        self._leave_out(self._kept - {self._asked} - last)
        self._shorten(everything, 500, 10_000)
        self._shorten(everything, 500, 2_000)
        self._leave_out(self._summaries)
        self._shorten(everything, 200, 500)

    def _shorten(self, which: set[int], value_chars: int, text_chars: int) -> None:
        for at in sorted(which - self._gone):
            if self.tokens <= self._budget:
                return
            # A question that was cut is another question: the model would answer that one.
            text = sys.maxsize if at == self._asked else text_chars
            shorter = shorten_message(self._messages[at], value_chars, text, value_chars)
            cost = self._costs[at] if shorter is self._messages[at] else self._count(shorter)
            if cost < self._costs[at]:
                self.tokens -= self._costs[at] - cost
                self._messages[at], self._costs[at] = shorter, cost

    def _leave_out(self, which: set[int]) -> None:
        """Leave out units that lie wholly in a set, the oldest first."""
        for unit in self._units:
            if self.tokens <= self._budget and not self._begins_badly(unit):
                return
            if self._gone.isdisjoint(unit) and which.issuperset(unit):
                self._gone.update(unit)
                self.tokens -= sum(self._costs[at] for at in unit)

    def _begins_badly(self, unit: list[int]) -> bool:
        """Whether an answer would come first, whose question was left out."""
        is_first = unit[0] > 0 and all(at in self._gone for at in range(unit[0]))
        return is_first and self._messages[unit[0]].role != "user"

    def result(self) -> Fitted:
        """Return what is left, and say what is not."""
        left = [at for at in range(len(self._messages)) if at not in self._gone]
        changed = [at for at in left if self._messages[at] is not self._before[at]]
        return Fitted(
            messages=[self._messages[at] for at in left],
            left_out=self._ids(sorted(self._gone)),
            shortened=self._ids(changed),
            tokens=self.tokens,
        )

    def _ids(self, places: Sequence[int]) -> list[str]:
        return [id for at in places if (id := self._before[at].id) is not None]


def _units(messages: Sequence[ModelMessage]) -> Iterator[list[int]]:
    """Yield the places of messages that go together: a message with calls, and its results."""
    unit: list[int] = []
    waiting: set[str] = set()
    for at, message in enumerate(messages):
        unit.append(at)
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                waiting.add(part.call_id)
            elif isinstance(part, ToolResultPart):
                waiting.discard(part.call_id)
        if not waiting:
            yield unit
            unit = []


def _last_asked(messages: Sequence[ModelMessage]) -> int:
    """Find the user's last message, a stored one if there is any."""
    asked = [at for at, message in enumerate(messages) if is_asked(message)]
    stored = [at for at in asked if messages[at].id is not None]
    return (stored or asked or [len(messages) - 1])[-1]


def is_asked(message: ModelMessage) -> bool:
    """Whether a message is something that the user said."""
    if message.role != "user" or is_summary(message):
        return False
    # Some formats give results the user's role, and a call is never what was asked.
    return not all(isinstance(part, ToolCallPart | ToolResultPart) for part in message.parts)
