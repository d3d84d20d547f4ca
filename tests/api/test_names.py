"""The public names are those that the reference documents, and no others."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import sapwood
from sapwood import errors
from sapwood.session import Turn, TurnAnswer, TurnStream
from sapwood.session.settings import Configurable, SettingFields

DOCS = Path(__file__).resolve().parents[2] / "docs"
ROW = re.compile(r"^\| `([\w.]+)", re.M)
CLASSES = [sapwood.Session, sapwood.SessionManager, Turn, TurnAnswer, TurnStream]


def section(page: str, heading: str) -> str:
    """Give the text under a heading, up to the next one of its level."""
    found = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", page, re.M | re.S)
    assert found is not None, f"there is no section {heading!r}"
    return found[1]


def reference() -> str:
    return (DOCS / "reference.md").read_text()


def public_methods(cls: type) -> set[str]:
    """Give the names of a class and of the parts that it is made of, without the settings."""
    return {name for name in dir(cls) if not name.startswith("_") and name not in settings()}


def settings() -> set[str]:
    return {name for name in vars(Configurable) if not name.startswith("_")}


def test_every_setting_is_documented() -> None:
    documented = ROW.findall(section(reference(), "Settings"))
    assert set(documented) == settings()
    for keyword in SettingFields.__annotations__:
        assert f"`{keyword}`" in section(reference(), "Settings"), keyword


def all_errors() -> dict[str, type[errors.SapwoodError]]:
    return {
        name: value
        for name, value in vars(errors).items()
        if inspect.isclass(value) and issubclass(value, errors.SapwoodError)
    }


def test_all_is_what_the_reference_documents() -> None:
    documented = ROW.findall(section(reference(), "Names of the package"))
    assert sorted(documented) == sorted(sapwood.__all__)


def test_every_name_resolves_and_no_other_does() -> None:
    for name in sapwood.__all__:
        assert getattr(sapwood, name) is not None
    assert dir(sapwood) == sorted(sapwood.__all__)
    with pytest.raises(AttributeError, match="nope"):
        sapwood.nope  # type: ignore[attr-defined] # noqa: B018


@pytest.mark.parametrize("cls", CLASSES)
def test_every_method_is_documented(cls: type) -> None:
    documented = ROW.findall(section(reference(), cls.__name__))
    assert set(documented) == public_methods(cls)
    assert len(documented) == len(set(documented))


@pytest.mark.parametrize("cls", CLASSES)
def test_every_parameter_is_documented(cls: type) -> None:
    text = section(reference(), cls.__name__)
    for name in public_methods(cls):
        member = inspect.getattr_static(cls, name)
        if isinstance(member, property):
            continue
        row = re.search(rf"^\| `{name}\(([^`]*)\)`", text, re.M)
        assert row is not None, f"{cls.__name__}.{name}"
        function = getattr(member, "__func__", member)
        _, *parameters = inspect.signature(function).parameters.values()
        assert row[1] == ", ".join(written(it) for it in parameters), f"{cls.__name__}.{name}"


def written(parameter: inspect.Parameter) -> str:
    if parameter.kind is parameter.VAR_KEYWORD:
        return f"**{parameter.name}"
    if parameter.default is parameter.empty:
        return parameter.name
    return f"{parameter.name}={parameter.default!r}"


def test_every_error_is_documented_with_its_code() -> None:
    page = (DOCS / "errors.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+)` \| `(\w+)` \|", page, re.M))
    assert rows == {name: cls.code for name, cls in all_errors().items()}


def test_every_error_has_a_code_of_its_own() -> None:
    codes = [cls.code for cls in all_errors().values()]
    assert len(codes) == len(set(codes))


def test_the_records_are_documented() -> None:
    from sapwood import model

    documented = set(re.findall(r"`(\w+)`", section(reference(), "Records")))
    assert set(model.__all__) <= documented


def test_what_moves_sessions_is_documented() -> None:
    from sapwood import transfer

    documented = ROW.findall(section(reference(), "Copies, exports and imports"))
    assert set(documented) == set(transfer.__all__)


def test_what_reads_streams_is_documented() -> None:
    from sapwood import streaming

    documented = ROW.findall(section(reference(), "Streams of models"))
    assert sorted(documented) == sorted(streaming.__all__)


def test_what_tells_of_the_lifecycle_is_documented() -> None:
    from sapwood import lifecycle

    documented = ROW.findall(section(reference(), "Lifecycle"))
    assert set(documented) == {name.removeprefix("Async") for name in lifecycle.__all__}


def test_what_agents_are_made_of_is_documented() -> None:
    from sapwood import agent
    from sapwood.agent.settings import AgentFields

    text = section(reference(), "Agents")
    for name in agent.__all__:
        assert f"| `{name.removeprefix('Async')}" in text, name
    for name in AgentFields.__annotations__:
        assert f"`{name}=" in text, name
