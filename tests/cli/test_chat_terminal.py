"""`sapwood chat` in a pseudo-terminal: prompts, Ctrl-C, Ctrl-D, colours."""

from __future__ import annotations

from endpoint import Endpoint, Stream, completions

from .command import Command
from .talking import Terminal, with_model
from .test_chat import said
from .test_chat_endpoint import answer, state

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
    assert (stored["parts"][0]["text"], state(stored)) == ("The or", "interrupted")
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


def test_markdown_is_drawn_and_the_meter_stands_under_it(
    empty: Command, endpoint: Endpoint
) -> None:
    table = "[small]\nwindow = 2000\ninput = 1.0\noutput = 10\n"
    (empty.folder / "models.toml").write_text(table)
    pieces = ("It is **blu", "e**.\n\n- one\n", "- two\n\n```\na = 1\n", "```\n")
    endpoint.prepare(Stream(completions.chunks(*pieces)))
    terminal = Terminal(empty, *with_model(endpoint), "--models", "models.toml")
    terminal.expect("> ")
    terminal.press("Well?\r")
    # The meter is there while the model is waited for, and after it has answered.
    seen = terminal.expect("$0.0020")
    assert "context " in seen
    assert "of 2,000 tokens" in seen
    assert "It is blue." in seen
    assert " • one" in seen
    assert "```" not in seen
    terminal.expect("> ")
    terminal.press(CTRL_D)
    assert terminal.end() == 0
    assert said(empty)[-1] == ("assistant", "".join(pieces))


def test_without_colours_an_answer_is_shown_as_it_is(empty: Command, endpoint: Endpoint) -> None:
    empty.env["NO_COLOR"] = "1"
    endpoint.prepare(Stream(completions.chunks("It is **blue**.")))
    code, seen = empty.in_terminal("chat", *with_model(endpoint), answer=b"Well?\r/quit\r")
    assert (code, "It is **blue**." in seen) == (0, True)
