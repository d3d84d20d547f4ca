"""What a model is told of a tool, and how what it writes is read."""

from __future__ import annotations

import functools
from typing import Annotated, Any, Literal

import msgspec
import pydantic
import pytest

from sapwood.agent import Agent, tool
from sapwood.errors import UsageError
from sapwood.rules.schemas import strict_schema_of


class Street(pydantic.BaseModel):
    name: str


class Address(pydantic.BaseModel):
    street: Street
    number: int = pydantic.Field(ge=1)


class Item(msgspec.Struct):
    name: str
    parts: list[Item] = []


def order(
    item: Item,
    to: Address,
    speed: Literal["slow", "fast"] = "slow",
    note: Annotated[str | None, msgspec.Meta(description="What else.")] = None,
) -> str:
    """Order an item."""
    return f"{item.name} to {to.street.name} {to.number}, {speed}"


WRITTEN = {"item": {"name": "tea"}, "to": {"street": {"name": "Rua"}, "number": 3}}


def test_a_signature_is_a_schema() -> None:
    definition = tool(order).definition
    schema = definition.schema
    assert (definition.name, definition.description) == ("order", "Order an item.")
    assert schema["required"] == ["item", "to"]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["speed"] == {"enum": ["fast", "slow"], "default": "slow"}
    assert schema["properties"]["note"]["description"] == "What else."
    assert schema["properties"]["to"]["properties"]["street"] == {"$ref": "#/$defs/Street"}
    assert schema["$defs"].keys() == {"Item", "Street"}
    assert "title" not in schema


def test_arguments_are_objects_of_the_types() -> None:
    made = tool(order)
    assert made.function(**made.read(WRITTEN)) == "tea to Rua 3, slow"
    assert made.read(msgspec.json.encode(WRITTEN).decode())["item"] == Item("tea")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"item": {}}, "name"),
        ({"speed": "late"}, "speed"),
        ({"to": {"street": {"name": "Rua"}, "number": 0}}, "greater than"),
        ({"more": 1}, "more"),
    ],
)
def test_what_does_not_fit_is_named(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        tool(order).read({**WRITTEN, **changes})


def test_a_default_that_can_change_is_not_shared() -> None:
    def collect(into: list[int] = []) -> int:  # noqa: B006
        return len(into)

    made = tool(name="collect")(collect)
    assert made.read({}) == {"into": []}


def anything(*values: int) -> None: ...


def strange(value: Missing) -> None: ...  # type: ignore[name-defined] # noqa: F821


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (anything, "by its name"),
        (strange, "Missing"),
        ({"type": "function"}, "give a function"),
        (int, "give a function"),
        (functools.partial(order), "no name"),
    ],
)
def test_what_is_no_tool_is_refused(wrong: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Agent(str, tools=[wrong])


def test_a_typed_answer_has_all_its_fields() -> None:
    schema = strict_schema_of(Item)
    assert schema["required"] == ["name", "parts"]
    assert schema["$defs"]["Item"]["required"] == ["name", "parts"]
    assert "default" not in msgspec.json.encode(schema).decode()
    with pytest.raises(UsageError, match="give a class with fields"):
        strict_schema_of(list[int])


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"max_stepps": 3}, "max_stepps"),
        ({"max_steps": 0}, "max_steps"),
        ({"name": "my agent"}, "no name"),
    ],
)
def test_what_an_agent_is_not_made_of_is_refused(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Agent(str, **fields)
    with pytest.raises(UsageError, match="model"):
        Agent("gpt-5")
