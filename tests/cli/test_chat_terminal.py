"""`sapwood chat` in a pseudo-terminal: prompts, Ctrl-C, Ctrl-D, colours."""

from __future__ import annotations

from endpoint import Endpoint, Stream, completions

from .command import Command
from .talking import Terminal, with_model
from .test_chat import said
from .test_chat_endpoint import answer

CTRL_D = "\x04"


def test_a_conversation_in_a_terminal(empty: Command) -> None:
    terminal = Terminal(empty)
    assert "no model" in terminal.expect("> ")
    terminal.press("hello\r")
    terminal.expect("[offline stand-in] There is no model here")
    terminal.expect("> ")
    terminal.press("/quit\r")
    assert terminal.end() == 0
    assert [role for role, _ in said(empty)] == ["user", "assistant"]


def test_the_end_of_the_conversation_is_shown_when_it_goes_on(empty: Command) -> None:
    empty("chat", input=b"where were we?\n")
    terminal = Terminal(empty)
    assert "user: where were we?" in terminal.expect("> ")
    terminal.press(CTRL_D)
    assert terminal.end() == 0


def test_ctrl_d_leaves(empty: Command) -> None:
    terminal = Terminal(empty)
    terminal.expect("> ")
    terminal.press(CTRL_D)
    assert terminal.end() == 0


def test_ctrl_c_at_the_prompt_says_how_to_leave(empty: Command) -> None:
    terminal = Terminal(empty)
    for _ in range(3):
        terminal.expect("> ")
        terminal.press("half a line")
        terminal.expect("half a line")
        terminal.interrupt("/quit")
    terminal.expect("> ")
    terminal.press("hello\r")
    terminal.expect("[offline stand-in]")
    terminal.expect("> ")
    terminal.press("/quit\r")
    assert terminal.end() == 0
    assert said(empty)[0] == ("user", "hello")


def test_ctrl_c_stops_an_answer_and_keeps_what_came(empty: Command, endpoint: Endpoint) -> None:
    endpoint.prepare(
        Stream([completions.chunk({"content": "The or"})], hangs=True),
        Stream(completions.chunks("Tomorrow.")),
    )
    terminal = Terminal(empty, *with_model(endpoint))
    terminal.expect("> ")
    terminal.press("Where is it?\r")
    terminal.expect("The or")
    terminal.interrupt("stopped; what came is kept")
    terminal.expect("> ")
    stored = answer(empty)
    assert (stored["parts"][0]["text"], stored["metadata"]["answer"]) == ("The or", "stopped")
    terminal.press("When?\r")
    terminal.expect("Tomorrow.")
    terminal.expect("> ")
    terminal.press(CTRL_D)
    assert terminal.end() == 0
    assert [text for _, text in said(empty)] == ["Where is it?", "The or", "When?", "Tomorrow."]


def test_several_lines_make_one_message(empty: Command) -> None:
    terminal = Terminal(empty)
    terminal.expect("> ")
    terminal.press('"""one\r')
    terminal.expect(". ")
    terminal.press('two"""\r')
    terminal.expect("[offline stand-in]")
    terminal.expect("> ")
    terminal.press(CTRL_D)
    terminal.end()
    assert said(empty)[0] == ("user", "one\ntwo")


def test_there_are_colours_in_a_terminal_unless_they_are_not_wanted(empty: Command) -> None:
    keys = b"find hello\r/quit\r"
    code, seen = empty.in_terminal("chat", answer=keys)
    assert (code, "\x1b[2m" in seen) == (0, True)
    empty.env["NO_COLOR"] = "1"
    empty.env["TERM"] = "dumb"
    code, seen = empty.in_terminal("chat", answer=keys)
    assert (code, "\x1b[2m" in seen) == (0, False)


def test_failures_in_a_terminal_do_not_fail_the_chat(empty: Command) -> None:
    terminal = Terminal(empty)
    terminal.expect("> ")
    terminal.press("/nope\r")
    terminal.expect("there is no command /nope")
    terminal.press("/quit\r")
    assert terminal.end() == 0


def test_events_in_a_terminal_have_no_prompt(empty: Command) -> None:
    terminal = Terminal(empty, "--json")
    terminal.expect('"event":"entered"')
    terminal.press("/quit\r")
    assert terminal.end() == 0
    assert "> " not in terminal.seen
