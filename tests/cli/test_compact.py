"""`compact`: a summary in place of the middle, by a digest or by a model; previewed and undone."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from endpoint import Endpoint, Hang, Reply, completions, messages

import sapwood

from .command import Command, wait_until

TIGHT = ["--keep-tokens", "0", "--head", "1"]


@pytest.fixture
def talked(sap: Command, folder: Path) -> Command:
    """Add a session of forty messages."""
    with sapwood.open(f"sqlite:///{folder}/agent.db", durability="normal") as sessions:
        chat = sessions.session("long")
        for n in range(20):
            chat.append("user", f"Question {n}: where is parcel number {n}? " * 5, id=f"q{n}")
            chat.append("assistant", f"Parcel {n} has left the warehouse. " * 5, id=f"a{n}")
    return sap


def shown(sap: Command) -> list[tuple[str, str]]:
    return [(it["kind"], it["id"]) for it in sap.json("show", "long", "--history")["entries"]]


def asking(endpoint: Endpoint, *more: str) -> list[str]:
    return [*TIGHT, "--model", "small", "--base-url", endpoint.url, *more]


def test_without_a_model_the_middle_becomes_a_digest(talked: Command) -> None:
    found = talked.json("compact", "long", *TIGHT)
    overlay = found["overlay"]
    assert (found["session"], found["status"], found["reason"]) == ("long", "done", "")
    assert (overlay["first"]["depth"], overlay["last"]["depth"]) == (2, 38)
    assert overlay["metadata"]["compaction"]["strategy"] == "digest"
    assert found["tokens_before"] - found["tokens_after"] == (
        overlay["covered_tokens"] - overlay["tokens"]
    )
    assert shown(talked) == [
        ("message", "q0"),
        ("summary", overlay["id"]),
        ("message", "q19"),
        ("message", "a19"),
    ]


def test_what_was_covered_and_the_tokens_before_and_after_are_told(talked: Command) -> None:
    first, second = talked("compact", "long", *TIGHT).splitlines()
    [overlay] = talked.json("show", "long", "--all")["overlays"]
    figures = f"{overlay['covered_tokens']} tokens became {overlay['tokens']}"
    assert first == f"{overlay['id'][:14]}  messages 2 to 38: {figures}"
    now = talked.json("show", "long")["session"]["context_tokens"]
    assert second.startswith(f"the context has {now} tokens, and had ")


def test_head_and_tail_stay_as_they_are(talked: Command) -> None:
    found = talked.json("compact", "long", "--head", "5", "--keep-tokens", "300")
    assert found["overlay"]["first"]["depth"] == 6
    kept = talked.json("show", "long", "--history")["entries"][6:]
    assert len(kept) > 2
    assert sum(it["tokens"] for it in kept) <= 450


def test_a_refusal_is_told_with_its_reason_and_is_no_failure(talked: Command) -> None:
    before = shown(talked)
    done = talked.run("compact", "long")
    assert done.returncode == 0
    assert done.stdout.startswith("refused: there is nothing to cover")
    assert "--keep-tokens" in done.stderr
    found = talked.json("compact", "long")
    assert (found["status"], found["overlay"]) == ("refused", None)
    assert found["tokens_before"] == found["tokens_after"]
    assert "nothing to cover" in found["reason"]
    assert shown(talked) == before


def test_no_smaller_ends_are_advised_than_none(sap: Command, folder: Path) -> None:
    with sapwood.open(f"sqlite:///{folder}/agent.db") as sessions:
        sessions.session("short").append("user", "hello")
    for mode in ([], ["--preview"]):
        done = sap.run("compact", "short", "--keep-tokens", "0", "--head", "0", *mode)
        assert done.stdout.startswith("refused: there is nothing to cover")
        assert "--keep-tokens" not in done.stderr


def test_a_preview_tells_what_would_be_covered_and_does_nothing(talked: Command) -> None:
    before = shown(talked)
    found = talked.json("compact", "long", *TIGHT, "--preview")
    assert (found["status"], found["strategy"], found["prompt"]) == ("possible", "digest", "")
    assert (found["covers"]["first"], found["covers"]["last"]) == (2, 38)
    assert found["covers"]["entries"] == 37
    out = talked("compact", "long", *TIGHT, "--preview")
    assert out.startswith(f"digest of messages 2 to 38: {found['covers']['tokens']} tokens would ")
    assert shown(talked) == before
    assert talked.json("compact", "long", "--list")["compactions"] == []
    refused = talked.json("compact", "long", "--preview")
    assert (refused["status"], refused["covers"]) == ("refused", None)
    assert talked("compact", "long", "--preview").startswith("refused: ")


def test_a_preview_for_a_model_shows_its_prompt_and_asks_nobody(
    talked: Command, endpoint: Endpoint
) -> None:
    focus = ["--focus", "parcel seven"]
    found = talked.json("compact", "long", *asking(endpoint, "--preview", *focus))
    assert "Question 7" in found["prompt"]
    assert "parcel seven" in found["prompt"]
    assert endpoint.asked == []
    # No key is needed, either.
    plain = ["--model", "small", "--preview", *focus]
    assert talked.json("compact", "long", *TIGHT, *plain)["prompt"] == found["prompt"]
    # Without a model, a strategy is enough to see its prompt.
    args = ["--preview", "--strategy", "summarize", *focus]
    assert talked.json("compact", "long", *TIGHT, *args)["prompt"] == found["prompt"]
    out = talked("compact", "long", *TIGHT, *args)
    assert "Question 7" in out


def test_a_model_writes_the_summary_and_its_call_is_counted(
    talked: Command, endpoint: Endpoint
) -> None:
    endpoint.prepare(completions.answer("Twenty parcels are on their way."))
    found = talked.json("compact", "long", *asking(endpoint, "--focus", "parcel seven"))
    assert found["overlay"]["summary"] == "Twenty parcels are on their way."
    assert found["overlay"]["metadata"]["compaction"]["focus"] == "parcel seven"
    [asked] = endpoint.asked
    assert asked.body["model"] == "small"
    assert "parcel seven" in asked.body["messages"][-1]["content"]
    [usage] = talked.json("usage", "long")["usage"]
    assert (usage["calls"], usage["input_tokens"]) == (1, 1200)


def test_the_providers_protocol_and_key_are_used(talked: Command, endpoint: Endpoint) -> None:
    endpoint.prepare(messages.answer("Twenty parcels."))
    talked.env |= {"ANTHROPIC_API_KEY": "usual", "MINE": "my-own"}
    args = ["--provider", "anthropic", "--model", "large", "--base-url", endpoint.root]
    found = talked.json("compact", "long", *TIGHT, *args)
    assert found["overlay"]["summary"] == "Twenty parcels."
    assert endpoint.asked[0].path.endswith("/messages")
    # Which header carries the key depends on the SDK's version.
    assert "usual" in " ".join(endpoint.asked[0].headers.values())
    talked("compact", "long", "--undo")
    talked("compact", "long", *TIGHT, *args, "--api-key-env", "MINE")
    assert "my-own" in " ".join(endpoint.asked[1].headers.values())


def test_a_model_that_fails_leaves_everything_as_it_was(
    talked: Command, endpoint: Endpoint
) -> None:
    before = shown(talked)
    endpoint.usual = lambda asked: Reply({"error": {"message": "no such model"}}, status=404)
    code, said = talked.fails("compact", "long", *asking(endpoint))
    assert (code, "no such model" in said) == (11, True)
    told = json.loads(talked.run("compact", "long", *asking(endpoint), "--json").stderr)
    assert (told["error"], told["exit_code"]) == ("compaction_failed", 11)
    assert shown(talked) == before


def test_hybrid_writes_a_digest_when_the_model_fails_and_says_why(
    talked: Command, endpoint: Endpoint
) -> None:
    endpoint.usual = lambda asked: Reply({"error": {"message": "no such model"}}, status=404)
    done = talked.run("compact", "long", *asking(endpoint, "--strategy", "hybrid"))
    assert done.returncode == 0
    assert "a digest, because " in done.stderr
    assert "no such model" in done.stderr
    assert len(shown(talked)) == 4


def test_a_model_that_is_silent_is_not_waited_for_longer_than_was_said(
    talked: Command, endpoint: Endpoint
) -> None:
    endpoint.usual = lambda asked: Hang()
    code, said = talked.fails("compact", "long", *asking(endpoint, "--timeout", "1"))
    assert (code, "1.0 s" in said or "timed out" in said) == (11, True)


def test_ctrl_c_while_a_model_writes_leaves_everything_free(
    talked: Command, endpoint: Endpoint
) -> None:
    before = shown(talked)
    endpoint.prepare(Hang())
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = talked.start("compact", "long", *asking(endpoint), **pipes)
    wait_until(lambda: endpoint.asked)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, b"Traceback" in err) == (130, b"", False)
    assert shown(talked) == before
    # The lease is free again: another does not have to wait for it.
    assert talked.json("compact", "long", *TIGHT)["status"] == "done"


def test_undo_takes_the_last_one_back(talked: Command) -> None:
    before = shown(talked)
    made = talked.json("compact", "long", *TIGHT)["overlay"]
    out = talked("compact", "long", "--undo")
    assert out == f"undone {made['id'][:14]}: messages 2 to 38 are shown again\n"
    assert shown(talked) == before
    code, said = talked.fails("compact", "long", "--undo")
    assert (code, "no compaction to undo" in said) == (3, True)
    made = talked.json("compact", "long", *TIGHT)["overlay"]
    assert talked.json("compact", "long", "--undo")["undone"]["id"] == made["id"]


def test_the_past_is_listed_with_what_was_undone(talked: Command) -> None:
    done = talked.run("compact", "long", "--list")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "no compactions\n")
    talked("compact", "long", *TIGHT)
    talked("compact", "long", "--undo")
    talked("compact", "long", *TIGHT)
    found = talked.json("compact", "long", "--list")["compactions"]
    assert [(it["reason"], it["strategy"], it["undone"]) for it in found] == [
        ("asked", "digest", True),
        ("asked", "digest", False),
    ]
    lines = talked("compact", "long", "--list").splitlines()
    assert [line.endswith("undone") for line in lines] == [False, True, False]
    assert lines[2].endswith("in force")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--preview", "--undo"], "exclude each other"),
        (["--undo", "--list"], "exclude each other"),
        (["--undo", "--focus", "x"], "--focus does not go with --undo"),
        (["--list", "--head", "1"], "--head does not go with --list"),
        (["--undo", "--head", "0"], "--head does not go with --undo"),
        (["--list", "--keep-tokens", "0"], "--keep-tokens does not go with --list"),
        (["--strategy", "summarize"], "needs a --model"),
        (["--strategy", "hybrid"], "needs a --model"),
        (["--strategy", "digest", "--model", "m"], "asks no --model"),
        (["--base-url", "http://x"], "--base-url needs a --model"),
        (["--provider", "anthropic"], "--provider needs a --model"),
        (["--timeout", "5"], "--timeout needs a --model"),
        (["--focus", "x"], "--focus needs a --model"),
        (["--model", "m"], "OPENAI_API_KEY"),
        (["--model", "m", "--provider", "anthropic"], "ANTHROPIC_API_KEY"),
        (["--model", "m", "--base-url", "http://x", "--api-key-env", "NO_KEY"], "NO_KEY"),
        (["--keep-tokens", "-1"], "keep-tokens"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    talked: Command, args: list[str], said: str
) -> None:
    talked.env.pop("ANTHROPIC_API_KEY", None)
    code, told = talked.fails("compact", "long", *args)
    assert (code, said in told) == (2, True), told


def test_while_a_model_writes_a_terminal_shows_it(talked: Command, endpoint: Endpoint) -> None:
    endpoint.prepare(completions.answer("Twenty parcels."))
    code, seen = talked.in_terminal("compact", "long", *asking(endpoint))
    assert code == 0
    assert "small writes a summary" in seen
    talked("compact", "long", "--undo")
    endpoint.prepare(completions.answer("Twenty parcels."))
    assert "writes" not in talked.run("compact", "long", *asking(endpoint)).stderr


@pytest.mark.parametrize("columns", [40, 200])
def test_lines_fit(talked: Command, columns: int) -> None:
    talked("compact", "long", *TIGHT)
    seen = talked.in_terminal("compact", "long", "--list", columns=columns)[1]
    lines = re.sub(r"\x1b\[\d*m", "", seen).splitlines()
    assert max(map(len, lines)) <= columns
    assert "in force" in lines[-1]
