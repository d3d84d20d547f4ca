"""Messages of a role and its content, as three of the formats have them.

Content is a string, or a list of elements, each with its type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..model import NewMessage, Part, TextPart
from .client_values import id_of, wrong
from .unmapped_fields import (
    NOTHING,
    AnyTyped,
    Json,
    NativePart,
    Reasoning,
    besides,
    difference,
    has_other,
    is_only_text,
    keep,
    kind_in,
    only_text,
    part_rest,
    restore,
    text_of_part,
)


@dataclass(frozen=True, slots=True)
class ContentFormat:
    """What differs from one format to the next.

    `roles` are those that it has for ours; for all others it is the user's. `default_kind` is the
    type by which a part is written in a message of a role, None when by none, and `write_as` writes
    one by a type: nothing if it is no such part.
    """

    name: str
    roles: Mapping[str, str]
    read_elements: Callable[[Json, str, str], list[Part]]
    default_kind: Callable[[Part, str], str | None]
    write_as: Callable[[Part, str], Json]
    could_be_string: Callable[[Json], bool] = is_only_text
    has_ids: bool = True
    may_be_null: bool = False

    def read(
        self,
        message: Json,
        role: str,
        path: str,
        fields: Iterable[tuple[str, Part]] = (),
        always_list: bool = False,
    ) -> NewMessage:
        """Read a message; `fields` are the parts that stand beside its content.

        `always_list` says that a string would be written otherwise, whatever is in the list.
        """
        content = message.get("content")
        is_own = self.roles.get(role) == role
        if is_own and len(message) == 2 and isinstance(content, str):
            return NewMessage(role=role, parts=[TextPart(text=content)])
        named = list(fields)
        parts: list[Part] = []
        if isinstance(content, list):
            parts = self.read_elements(message, role, path)
        elif isinstance(content, str):
            parts = [TextPart(text=content)]
        elif content is not None or not self.may_be_null:
            raise wrong(content, f"{path}.content", "a string or a list")
        if named:
            parts += [part for _, part in named]
        rest: Json = {"other": True} if has_other(parts) else {}
        if isinstance(content, list) and (always_list or self._is_string(content)):
            rest["list"] = True
        # Each part is written as it came.
        if is_own and not named and content is not None:
            rest |= besides(message, ("role", "content"))
        else:
            made = {
                "role": self.role_of(role),
                "content": content,
                **{n: message[n] for n, _ in named},
            }
            if content is None:
                made["content"] = self._nothing(role)
            rest |= difference(made, message)
        metadata = {self.name: rest} if rest else {}
        id = id_of(message) if self.has_ids else None
        return NewMessage(role=role, parts=parts, metadata=metadata, id=id)

    def kept(self, part: AnyTyped, role: str, kind: str, value: Json) -> AnyTyped:
        """Keep beside a part what else the element says that it was read from."""
        rest = NOTHING if kind == self.default_kind(part, role) else {"type": kind}
        return keep(part, self.name, value, self.write_as(part, kind), rest)

    def role_of(self, role: str) -> str:
        """Return the role that the format has for one of ours."""
        return self.roles.get(role, "user")

    def _nothing(self, role: str) -> str | None:
        return None if self.may_be_null and role == "assistant" else ""

    def _is_string(self, elements: list[Json]) -> bool:
        """Whether a list could be a string: one text at most, and nothing said about it."""
        return len(elements) < 2 and all(map(self.could_be_string, elements))

    def write(
        self,
        role: str,
        parts: list[Part],
        rest: Json,
        reasoning: Reasoning,
        fields: Json = NOTHING,
    ) -> Json | None:
        """Write a message; None when there is nothing to say."""
        role = self.role_of(role)
        text = only_text(parts, rest)
        if text is not None:
            return {"role": role, "content": text, **fields}
        content: Any = self.write_elements(parts, role, reasoning)
        if "list" not in rest and self._is_string(content):
            content = content[0]["text"] if content else self._nothing(role)
        # What only its own vendor can read has no words here; what says nothing by itself stays.
        is_unsayable = not content and parts and not rest and not fields
        if is_unsayable and not any(isinstance(part, TextPart) for part in parts):
            return None
        return restore({"role": role, "content": content, **fields}, rest)

    def write_elements(self, parts: list[Part], role: str, reasoning: Reasoning) -> list[Json]:
        """Write the parts of a message as elements of its content, those that say anything."""
        written = [self.write_element(part, role, reasoning) for part in parts]
        return [element for element in written if element is not None]

    def write_element(self, part: Part, role: str, reasoning: Reasoning) -> Json | None:
        """Write an element of content; None when there is nothing to say."""
        if isinstance(part, NativePart):
            return part.to_json()
        rest = part_rest(part, self.name)
        kind = kind_in(rest) or self.default_kind(part, role)
        if kind and (made := self.write_as(part, kind)):
            return restore(made, rest)
        text = text_of_part(part, reasoning)
        return self.write_element(TextPart(text=text), role, reasoning) if text else None
