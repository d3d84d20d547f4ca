"""The examples do what they say, also when they are killed in the middle of an answer."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from endpoint import Endpoint

import sapwood

from .vendors import begun, said

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
RUN = """
import runpy, sys
from sapwood.session._sync import turn_lease
turn_lease.LEASE_S = 1.0
runpy.run_path(sys.argv.pop(1), run_name="__main__")
"""
RAIN = [("c1", "weather", {"city": "Porto"})]
VENDOR = {"openai": "openai_chat", "anthropic": "anthropic"}


def start(sdk: str, endpoint: Endpoint, folder: Path) -> subprocess.Popen[str]:
    root = endpoint.root if sdk == "anthropic" else endpoint.url
    keys = {f"{sdk.upper()}_BASE_URL": root, f"{sdk.upper()}_API_KEY": "a-key"}
    return subprocess.Popen(
        [sys.executable, "-c", RUN, str(EXAMPLES / f"agent_{sdk}.py"), "An umbrella in Porto?"],
        cwd=folder,
        env={**os.environ, **keys},
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("sdk", ["openai", "anthropic"])
def test_an_example_goes_on_after_a_kill(sdk: str, endpoint: Endpoint, tmp_path: Path) -> None:
    vendor = VENDOR[sdk]
    endpoint.prepare(
        said(vendor, calls=RAIN, id="a-1"),
        begun(vendor, "Yes, take an umbrella.", hangs=True),
    )
    killed = start(sdk, endpoint, tmp_path)
    assert killed.stdout is not None
    told = ""
    while "Yes, " not in told:
        piece = killed.stdout.read(1)
        assert piece, "it ended"
        told += piece
    killed.kill()
    killed.communicate()
    answers = ["Take one.", "It will rain.", "There, too."]
    endpoint.prepare(*(said(vendor, it, id=f"b-{at}") for at, it in enumerate(answers)))
    shown, _ = start(sdk, endpoint, tmp_path).communicate(timeout=50)
    for text in answers:
        assert f"[complete] {text}\n" in shown
    assert "[3 calls, 3,600 tokens in]" in shown
    with sapwood.open(f"sqlite:///{tmp_path}/agent.db", owner="ada") as sessions:
        chat = sessions.session("umbrella")
        assert [message.role for message in chat.history().messages_only] == ["user", "assistant"]
        assert len(sessions.list_sessions(parent="umbrella").sessions) == 1


@pytest.mark.parametrize("sdk", ["openai", "anthropic"])
def test_an_example_is_short(sdk: str) -> None:
    assert len((EXAMPLES / f"agent_{sdk}.py").read_text().splitlines()) <= 40
