"""The public names, and that the twins are alike."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest

from sapwood import context

TWINS = [name for name in context.__all__ if name.startswith("Async")]
ROOT = Path(__file__).resolve().parents[2]


def surface(cls: type) -> dict[str, str]:
    shown = {}
    for name in dir(cls):
        member = inspect.getattr_static(cls, name)
        if not name.startswith("_"):
            text = str(inspect.signature(member)) if inspect.isfunction(member) else "-"
            shown[name] = text.replace("Async", "")
    return shown


@pytest.mark.parametrize("name", TWINS)
def test_twins_have_the_same_surface(name: str) -> None:
    assert surface(getattr(context, name)) == surface(getattr(context, name[5:]))


def test_every_name_is_there_and_no_other() -> None:
    for name in context.__all__:
        assert getattr(context, name) is not None
    with pytest.raises(AttributeError, match="nope"):
        context.nope  # type: ignore[attr-defined] # noqa: B018


def test_the_sync_twin_loads_no_event_loop(tmp_path: Path) -> None:
    code = (
        "import sapwood, json, sys\n"
        "from sapwood.context import BlockConfig, Context\n"
        "with sapwood.open('memory://') as sessions:\n"
        "    sessions.session('chat')\n"
        "    Context(sessions.store, 'default', 'chat', [BlockConfig('memory')]).freeze()\n"
        "print(json.dumps(sorted(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "asyncio" not in json.loads(done.stdout)


def test_every_name_is_on_a_page() -> None:
    pages = "".join((ROOT / "docs" / page).read_text() for page in ("context.md", "tools.md"))
    for name in context.__all__:
        assert f"`{name}" in pages or f"`{name.removeprefix('Async')}" in pages, name
