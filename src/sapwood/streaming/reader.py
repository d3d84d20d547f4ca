"""What the readers of all vendors' streams share: they are told items, and give events."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from ..formats.client_values import plain
from ..model import NewMessage, Usage
from .events import DoneEvent, ErrorEvent, FinishReason, StreamEvent, UsageEvent

NOTHING: tuple[StreamEvent, ...] = ()

# What a vendor sends in pieces, in fields that we do not know; any other text comes whole.
_GROWING = ("arguments", "content", "data", "input", "signature", "text", "transcript")


class StreamReader(ABC):
    """Reads the items of one stream. `message` is the answer as far as it came."""

    reasons: ClassVar[Mapping[str, FinishReason]] = {}

    def __init__(self, model: str) -> None:
        self.model = model
        self.id: str | None = None
        self.usage: Usage | None = None
        self._said: str | None = None
        self._reason: FinishReason | None = None
        self._is_done = False
        self._call_ids: set[str] = set()

    @abstractmethod
    def read(self, item: Any) -> Sequence[StreamEvent]:
        """Return the events of an item."""

    @property
    @abstractmethod
    def message(self) -> NewMessage:
        """The answer as far as it came, without calls that are not complete."""

    @property
    def is_whole(self) -> bool:
        """Whether the vendor said that the answer ended."""
        return self._reason is not None

    def finish(self) -> list[StreamEvent]:
        """Return the last events, once."""
        if self._is_done:
            return []
        self._is_done = True
        message, reason = self.message, self._reason or "cut"
        events: list[StreamEvent] = []
        if self.is_whole and self.usage is not None:
            events.append(UsageEvent(usage=self.usage))
        done = DoneEvent(
            reason=reason, message=message, said=self._said, id=self.id or None, usage=self.usage
        )
        return [*events, done]

    def _begin(self, answer: Mapping[str, Any]) -> None:
        """Keep what an answer is called; some servers send an empty id at first."""
        id, model = answer.get("id"), answer.get("model")
        self.id = id if isinstance(id, str) and id else self.id
        self.model = model if isinstance(model, str) and model else self.model

    def _end(self, said: Any) -> None:
        """Keep why the answer ended, in the vendor's word."""
        if isinstance(said, str) and said:
            self._said, self._reason = said, self.reasons.get(said, "other")

    def _fail(self, error: Any) -> list[StreamEvent]:
        """Keep that the answer failed."""
        fields, self._reason = fields_of(error), "error"
        message, code = fields.get("message"), fields.get("code") or fields.get("type")
        told = message if isinstance(message, str) else str(plain(error))
        return [ErrorEvent(message=told, code=None if code is None else str(code))]

    def _new_call_id(self, wanted: Any) -> str:
        """Return the id for a call: what was sent, unless that is missing or another call's."""
        number = len(self._call_ids)
        first = wanted if isinstance(wanted, str) and wanted else f"{self.id or 'call'}_{number}"
        id = first
        while id in self._call_ids:
            number += 1
            id = f"{first}_{number}"
        self._call_ids.add(id)
        return id


def fields_of(value: Any) -> Mapping[str, Any]:
    """Return the fields of an object of an SDK or of JSON; of anything else, none."""
    if type(value) is dict:
        return value
    try:
        more = value.__pydantic_extra__
    except AttributeError:
        return value if isinstance(value, Mapping) else getattr(value, "__dict__", {})
    fields: dict[str, Any] = value.__dict__
    return {**fields, **more} if more else fields


def joined(pieces: Iterable[str]) -> str:
    """Join what came in pieces; a character that was cut in two is whole again."""
    text = "".join(pieces)
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def merged(there: Any, more: Any, key: str = "") -> Any:
    """Add the next piece of a field that we do not know to what came of it before."""
    if isinstance(there, dict) and isinstance(more, dict):
        return {**there, **{name: merged(there.get(name), more[name], name) for name in more}}
    if isinstance(there, list) and isinstance(more, list):
        whole = list(there)
        for item in more:
            at = _place(whole, item)
            whole[at:] = [merged(whole[at], item), *whole[at + 1 :]] if at < len(whole) else [item]
        return whole
    grows = key in _GROWING and isinstance(there, str) and isinstance(more, str)
    return there + more if grows else more


def _place(items: list[Any], item: Any) -> int:
    """Return where the item with the same index stands; if nowhere, the end."""
    index = fields_of(item).get("index")
    found = (at for at, it in enumerate(items) if fields_of(it).get("index") == index)
    return len(items) if index is None else next(found, len(items))
