"""Runs whose process is killed, and that another one goes on with."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import sapwood
from sapwood.agent import Agent, tool
from sapwood.model import ModelInput
from sapwood.session._sync import turn_lease

PROGRAM = """
import sys, time
import sapwood
from sapwood import ToolCallPart
from sapwood.agent import Agent, tool
from sapwood.session import partial_answer
from sapwood.session._sync import turn_lease

turn_lease.LEASE_S = 1.0
where = sys.argv[1]


def send(to: str) -> str:
    print("here", flush=True)
    time.sleep(60)


def model(given):
    if where == "answer":
        yield "It is "
        time.sleep(1.1)
        yield "no"
        print("here", flush=True)
        time.sleep(60)
    yield ToolCallPart(call_id="c1", name="send", input={"to": "bob"})


with sapwood.open("sqlite:///runs.db", owner="ada") as sessions:
    agent = Agent(model, tools=[tool(needs_approval=where == "waiting")(send)], sessions=sessions)
    print(agent.run("Done?", session="chat", id="q").reason, flush=True)
    time.sleep(60)
"""


@pytest.mark.fault
@pytest.mark.parametrize("where", ["answer", "tool", "waiting"])
def test_a_run_goes_on_after_a_kill(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn_lease, "LEASE_S", 1.0)
    done = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, where], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    )
    assert done.stdout is not None
    assert done.stdout.readline().strip() == ("waiting" if where == "waiting" else "here")
    done.kill()
    done.wait()
    done.stdout.close()
    sent: list[str] = []

    def send(to: str) -> str:
        sent.append(to)
        return "sent"

    def model(given: ModelInput) -> Any:
        return "Yes."

    with sapwood.open(f"sqlite:///{tmp_path}/runs.db", owner="ada") as sessions:
        agent = Agent(model, tools=[tool(needs_approval=where == "waiting")(send)])
        chat = sessions.session("chat")
        said = [message.text for message in chat.history().messages_only]
        assert said == (["Done?", "It is no"] if where == "answer" else ["Done?", ""])
        assert (chat.find_turn("q").state == "waiting") is (where == "waiting")
        answer = agent.resume(chat, approve=True)
        assert (answer.text, answer.turn) == ("Yes.", "q")
        assert sent == ([] if where == "answer" else ["bob"])
        assert chat.history().messages_only[-1].extra["turn"]["state"] == "complete"
