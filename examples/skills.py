"""Skills from a folder: the model sees a list, loads what it needs, and puts it away again.

    python examples/skills.py

It asks no model: the calls are those that a model would make. Nothing is left behind.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import sapwood
from sapwood import Session, SessionManager, ToolCallPart, ToolResultPart
from sapwood.context import SkillsFolder

SKILLS = Path(__file__).parent / "skills"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/skills.db"
        with open_with_skills(url) as sessions:
            chat = sessions.session("trip")
            print(chat.prepare().prompt)
            chat.append("user", "What do I pack for three days in Porto?")
            show("The model loads a skill", call(chat, "load_context", "packing"))
            show("and a file of another", call(chat, "load_context", "phrasebook/food.md"))

        # As if the process had been started again.
        with open_with_skills(url) as sessions:
            chat = sessions.session("trip")
            loaded = [each.key for each in chat.loaded_context()]
            show("After a restart these are still loaded", ", ".join(loaded))
            show("The model puts one away", call(chat, "unload_context", "packing"))
            show("In its place the model is shown", chat.prepare().messages[2].parts[0].output)
            stored = chat.history().messages_only[2].parts[0].output
            show("The history holds it as before", stored.splitlines()[0])


def open_with_skills(url: str) -> SessionManager:
    return sapwood.open(url).with_context("skills", provider=SkillsFolder(SKILLS))


def call(chat: Session, tool: str, key: str) -> str:
    """Do what an agent's loop does when the model calls a tool."""
    arguments = {"label": "skills", "key": key}
    number = f"call-{chat.path_length()}"
    chat.append("assistant", ToolCallPart(call_id=number, name=tool, input=arguments))
    answer = chat.call_tool(tool, arguments)
    chat.append("tool", ToolResultPart(call_id=number, output=answer))
    return answer


def show(what: str, text: str) -> None:
    print(f"\n{what}:")
    for line in text.splitlines():
        print(f"  {line}".rstrip())


if __name__ == "__main__":
    main()
