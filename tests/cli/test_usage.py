"""`usage`: what the model calls cost, for people and for programs."""

from __future__ import annotations

from pathlib import Path

import pytest

import sapwood
from sapwood.model import Usage

from .command import Command


@pytest.fixture
def paid(sap: Command, folder: Path) -> Command:
    """Add calls of two models to one session, and of one to another."""
    with sapwood.open(f"sqlite:///{folder}/agent.db") as sessions:
        chat = sessions.get("support")
        chat.add_usage(
            Usage(
                id="u1",
                model="large",
                message="m2",
                input_tokens=1200,
                cached_tokens=1000,
                output_tokens=80,
                reasoning_tokens=30,
                cost_micros=4_200,
            )
        )
        chat.add_usage(
            Usage(id="u2", model="large", message="m4", input_tokens=100, output_tokens=7)
        )
        chat.add_usage(Usage(id="u3", model="small", input_tokens=10, output_tokens=1))
        other = Usage(id="u1", model="small", input_tokens=5, cost_micros=2_000_000)
        sessions.get("second").add_usage(other)
    return sap


def test_usage_of_a_session_is_a_line_for_each_model_and_their_sum(paid: Command) -> None:
    lines = [line.split() for line in paid("usage", "support").splitlines()]
    assert lines == [
        ["MODEL", "CALLS", "INPUT", "CACHED", "OUTPUT", "REASONING", "COST"],
        ["large", "2", "1,300", "1,000", "87", "30", "0.004200"],
        ["small", "1", "10", "0", "1", "0", "0"],
        ["total", "3", "1,310", "1,000", "88", "30", "0.004200"],
    ]


def test_usage_in_json_has_exact_numbers(paid: Command) -> None:
    found = paid.json("usage", "support")
    assert (found["session"], found["by"]) == ("support", "model")
    assert found["usage"][0] == {
        "model": "large",
        "calls": 2,
        "input_tokens": 1300,
        "cached_tokens": 1000,
        "output_tokens": 87,
        "reasoning_tokens": 30,
        "cost_micros": 4200,
    }
    sums = {
        name: sum(it[name] for it in found["usage"])
        for name in found["usage"][0]
        if name != "model"
    }
    assert found["total"] == sums


def test_usage_by_message_names_the_messages(paid: Command) -> None:
    found = paid.json("usage", "support", "--by", "message")
    calls = {it["message"]: (it["model"], it["input_tokens"]) for it in found["usage"]}
    assert calls == {"m2": ("large", 1200), "m4": ("large", 100), None: ("small", 10)}
    lines = [line.split() for line in paid("usage", "support", "--by", "message").splitlines()]
    assert lines[0][:2] == ["MESSAGE", "MODEL"]
    assert {tuple(line[:2]) for line in lines[1:-1]} == {
        ("m2", "large"),
        ("m4", "large"),
        ("-", "small"),
    }
    assert lines[-1][:3] == ["total", "3", "1,310"]


def test_usage_without_a_session_is_that_of_all(paid: Command) -> None:
    found = paid.json("usage")
    assert found["session"] is None
    assert [(it["model"], it["calls"]) for it in found["usage"]] == [("large", 2), ("small", 2)]
    assert found["total"]["cost_micros"] == 2_004_200
    assert paid("usage").splitlines()[-1].split()[-1] == "2.004200"


def test_one_line_needs_no_sum(paid: Command) -> None:
    assert len(paid("usage", "second").splitlines()) == 2


def test_usage_of_nothing_says_so_beside_the_output(sap: Command) -> None:
    done = sap.run("usage", "support")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "no model calls\n")
    found = sap.json("usage")
    assert found["usage"] == []
    assert set(found["total"].values()) == {0}


def test_by_message_needs_a_session(sap: Command) -> None:
    code, said = sap.fails("usage", "--by", "message")
    assert (code, "needs a SESSION" in said) == (2, True)


@pytest.mark.parametrize("columns", [40, 60, 120])
def test_what_goes_first_in_a_narrow_terminal_is_not_the_tokens(
    paid: Command, columns: int
) -> None:
    _, seen = paid.in_terminal("usage", "support", columns=columns)
    for shown in ("INPUT", "OUTPUT", "1,310", "large"):
        assert shown in seen
