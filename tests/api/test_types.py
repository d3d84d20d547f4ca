"""A type checker sees the real types through the lazily resolved names."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CODE = """
import sapwood

with sapwood.open("memory://") as sessions:
    chat = sessions.session("chat", title="Chat")
    message = chat.append("user", ["hello", sapwood.TextPart(text="there"), {"type": "x"}])
    reveal_type(sessions)
    reveal_type(chat)
    reveal_type(message)
    reveal_type(chat.history().messages_only)
    reveal_type(chat.tip())
    for entry in chat.iter_history():
        reveal_type(entry)


async def main() -> None:
    async with sapwood.open_async("memory://") as sessions:
        chat = await sessions.session("chat")
        reveal_type(await chat.append("user", "hello"))
        async for entry in chat.iter_history():
            reveal_type(entry)


try:
    chat.append("user", "hello")
except sapwood.errors.NotFoundError as error:
    reveal_type(error.kind)
"""
MISTAKES = """
import sapwood

sapwood.nope
with sapwood.open("memory://") as sessions:
    sessions.session("chat", colour="red")
    sessions.list_sessions(order="size")
    sessions.session("chat").append("user", 7)
"""
EXPECTED = [
    "sapwood.session._sync.manager.SessionManager",
    "sapwood.session._sync.session.Session",
    "sapwood.model.message.Message",
    "list[sapwood.model.message.Message]",
    "str | sapwood.model.message.Root",
    "sapwood.model.message.Message | sapwood.model.history.Summary",
    "sapwood.model.message.Message",
    "sapwood.model.message.Message | sapwood.model.history.Summary",
    "str",
]


def check(code: str, folder: Path) -> list[str]:
    (folder / "code.py").write_text(code)
    command = [sys.executable, "-m", "mypy", "--strict", "--no-pretty", "code.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return done.stdout.splitlines()


def test_types_are_seen(tmp_path: Path) -> None:
    lines = check(CODE, tmp_path)
    assert "no issues" in lines[-1]
    assert [line.partition('"')[2].rstrip('"') for line in lines[:-1]] == EXPECTED


def test_mistakes_are_seen(tmp_path: Path) -> None:
    errors = [line for line in check(MISTAKES, tmp_path) if "error:" in line]
    assert [line.split(":")[1] for line in errors] == ["4", "6", "7", "8"]
