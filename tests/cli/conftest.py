"""A folder with a database in it, and the command to run there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from endpoint import Endpoint

import sapwood

from .command import Command


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a folder with a small conversation: branches, an overlay, a fork."""
    with sapwood.open(f"sqlite:///{tmp_path}/agent.db", durability="normal") as sessions:
        chat = sessions.session("support", title="The lost parcel", tags=["urgent"])
        chat.append("user", "Where is my order?", id="m1")
        chat.append("assistant", "It left the warehouse today.", id="m2")
        chat.append("user", "When will it arrive?", id="m3")
        chat.append("assistant", "Tomorrow.", id="m4")
        chat.append("assistant", "On Monday.", id="x4", parent="m3")
        chat.add_overlay("m1", "m2", "An order is on its way.", id="o1")
        chat.fork("second", "m3")
    return tmp_path


@pytest.fixture
def sap(folder: Path) -> Command:
    """Give the command, in a folder with a database that the environment names."""
    return Command(folder, "sqlite:///agent.db")


@pytest.fixture
def empty(tmp_path: Path) -> Command:
    """Give the command, in a folder without a database."""
    return Command(tmp_path, "sqlite:///agent.db")


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    """Give a model's endpoint on this machine."""
    with Endpoint() as server:
        yield server
