"""Records are frozen and keyword-only, and everything is exported."""

from __future__ import annotations

import importlib
import pkgutil

import msgspec
import pytest

from sapwood import model

RECORDS = [
    value
    for value in (getattr(model, name) for name in model.__all__)
    if isinstance(value, type) and issubclass(value, msgspec.Struct)
]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
def test_records_are_frozen_and_keyword_only(record: type[msgspec.Struct]) -> None:
    assert record.__struct_config__.frozen
    # A position is a pair, and a key goes from the whole to the part: both read better so.
    # Any other object is wrapped as it is.
    ordered = {
        model.Position: ("segment", "depth"),
        model.SessionKey: ("agent", "channel", "peer", "thread"),
        model.OtherPart: ("value",),
    }
    assert record.__match_args__ == ordered.get(record, ())
    assert record.__doc__


def test_every_public_record_is_exported() -> None:
    for info in pkgutil.iter_modules(model.__path__):
        module = importlib.import_module(f"sapwood.model.{info.name}")
        for name, value in vars(module).items():
            own = getattr(value, "__module__", None) == module.__name__
            if own and isinstance(value, type) and not name.startswith("_"):
                assert name in model.__all__


def test_exports_are_there() -> None:
    assert len(set(model.__all__)) == len(model.__all__)
    assert all(hasattr(model, name) for name in model.__all__)


def test_defaults_are_not_shared_between_records() -> None:
    first = model.NewMessage(role="user", parts=[])
    first.metadata["k"] = 1
    assert model.NewMessage(role="user", parts=[]).metadata == {}
