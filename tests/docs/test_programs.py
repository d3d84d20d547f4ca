"""The programs in the examples folder run as they say, without a model and without a network."""

from __future__ import annotations

import ast
import importlib
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import sapwood
from sapwood import ToolCallPart, ToolResultPart
from sapwood.compaction import create_compact_function
from sapwood.errors import ContextOverflowError

from .blocks import ROOT
from .endpoint import endpoint

EXAMPLES = ROOT / "examples"
PROGRAMS = sorted(file for file in EXAMPLES.glob("*.py") if "__main__" in file.read_text())
RUN = [file for file in PROGRAMS if file.stem not in ("demo", "service")]
SHOWN = {
    "agent_loop": ["The tool says: 391.0", " calls, "],
    "many_sessions": ["200 conversations at once, 2000 messages,", "200 of them whole"],
    "searching_history": ["Is it safe to run [rm] [-rf]", "服务器[部署]", "It was the hose!"],
    "skills": ["- packing: What to pack", "packing, phrasebook/food.md", "'packing' was unloaded"],
}


def name_of(file: Path) -> str:
    return file.stem


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give an empty folder to work in, with the examples to be imported and no key."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(EXAMPLES)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    return tmp_path


@pytest.fixture
def loop(folder: Path) -> ModuleType:
    return importlib.import_module("agent_loop")


@pytest.fixture
def standin(folder: Path) -> ModuleType:
    return importlib.import_module("standin")


@pytest.mark.parametrize("file", PROGRAMS, ids=name_of)
def test_a_program_says_how_it_is_run(file: Path) -> None:
    text = ast.get_docstring(ast.parse(file.read_text()))
    assert text is not None
    assert f"    python examples/{file.name}" in text


@pytest.mark.parametrize("file", RUN, ids=name_of)
def test_a_program_runs_and_runs_again(file: Path, folder: Path) -> None:
    for _ in range(2):
        command = [sys.executable, "-W", "error", str(file)]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        assert [shown for shown in SHOWN[file.stem] if shown not in done.stdout] == []
    assert {left.name.partition(".")[0] for left in folder.iterdir()} <= {"agent"}


def test_the_agent_loop_has_sixty_lines() -> None:
    assert len((EXAMPLES / "agent_loop.py").read_text().splitlines()) <= 60


def test_the_loop_calls_tools_and_keeps_typed_parts_and_usage(
    loop: ModuleType, standin: ModuleType
) -> None:
    with sapwood.open("memory://").with_context("memory") as sessions:
        chat = sessions.session("agent")
        assert loop.answer(chat, standin.StandIn(), "What is 6 * 7?") == "The tool says: 42.0"
        [asked, call, result, said] = chat.history().messages_only
        assert [type(part) for part in call.parts] == [ToolCallPart]
        assert result.parts == [ToolResultPart(call_id=call.parts[0].call_id, output=42.0)]
        assert (asked.role, call.role, result.role, said.role) == (
            "user",
            "assistant",
            "tool",
            "assistant",
        )
        [total] = chat.usage()
        assert (total.model, total.calls) == ("stand-in", 2)
        assert [each.message for each in chat.usage("message")] == [call.id, said.id]


def test_the_loop_keeps_what_it_is_told(loop: ModuleType, standin: ModuleType) -> None:
    with sapwood.open("memory://").with_context("memory") as sessions:
        chat = sessions.session("agent")
        loop.answer(chat, standin.StandIn(), "Please remember that I live in Porto")
        assert chat.get_context_block("memory").content == "I live in Porto"


@pytest.mark.parametrize("expression", ["6 + 7", "6 * 7 * 8", "six * seven", ""])
def test_a_tool_that_fails_tells_the_model(loop: ModuleType, expression: str) -> None:
    call = ToolCallPart(call_id="1", name="multiply", input={"expression": expression})
    assert loop.run(None, call).is_error


@pytest.mark.parametrize("through_http", [False, True])
def test_the_loop_recovers_from_an_overflow(
    loop: ModuleType, standin: ModuleType, through_http: bool
) -> None:
    model = standin.StandIn(window=3_000)
    with sapwood.open("memory://").with_context("memory") as sessions:
        sessions.compact_with(create_compact_function(strategy="digest", tail_token_budget=500))
        chat = sessions.session("agent")
        with endpoint(model) as url:
            client = connected(url) if through_http else model
            for number in range(30):
                said = loop.answer(chat, client, f"{number}. And what is 3 * {number}? " * 9)
                assert said == f"The tool says: {3.0 * number}"
        assert {note.reason for note in chat.compactions()} == {"overflow"}
        assert len(chat.history(overlays=False).messages_only) == 120
        [total] = chat.usage()
        assert total.calls == 60


def test_what_stays_too_long_is_a_clear_error(loop: ModuleType, standin: ModuleType) -> None:
    with sapwood.open("memory://") as sessions:
        chat = sessions.session("agent")
        with pytest.raises(ContextOverflowError, match="too long"):
            loop.answer(chat, standin.StandIn(window=10), "Hello! " * 50)
        assert [message.role for message in chat.history().messages_only] == ["user"]


def connected(url: str) -> Any:
    from openai import OpenAI

    return OpenAI(base_url=url, api_key="none", max_retries=0)


def test_the_loop_speaks_to_an_endpoint_by_the_vendors_client(
    folder: Path, monkeypatch: pytest.MonkeyPatch, standin: ModuleType
) -> None:
    with endpoint(standin.StandIn()) as url:
        environment = {**os.environ, "OPENAI_API_KEY": "none", "OPENAI_BASE_URL": url}
        command = [sys.executable, str(EXAMPLES / "agent_loop.py"), "What is 5 * 5?"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.stdout.splitlines()[0] == "The tool says: 25.0", done.stderr
