"""What a run does, whoever the model is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

import sapwood
from sapwood import NewMessage, TextPart, ToolCallPart
from sapwood.agent import AsyncAgent, AsyncAgentRun, tool
from sapwood.compaction import create_compact_function
from sapwood.errors import ContextOverflowError, SessionBusyError, UsageError
from sapwood.model import ModelInput, Part, Usage

CALL = ToolCallPart(call_id="c1", name="send", input={"to": "bob"})


class Script:
    """A model that says one thing after the other, and notes what it was given."""

    def __init__(self, *said: Any) -> None:
        self.said = list(said)
        self.given: list[ModelInput] = []

    def __call__(self, given: ModelInput) -> Any:
        self.given.append(given)
        said = self.said.pop(0)
        if isinstance(said, BaseException):
            raise said
        return said

    @property
    def results(self) -> list[Any]:
        """What the tools answered before its last answer."""
        return [(part.output, part.is_error) for part in self.given[-1].messages[-1].parts]


def called(name: str, *inputs: Any) -> list[Any]:
    return [ToolCallPart(call_id=f"c{at}", name=name, input=it) for at, it in enumerate(inputs, 1)]


class Sent:
    """A tool that counts."""

    def __init__(self) -> None:
        self.to: list[str] = []

    def tool(self, **settings: Any) -> Any:
        def send(to: str) -> str:
            self.to.append(to)
            return f"sent to {to}"

        return tool(**settings)(send)


# answers of any kind


@pytest.mark.parametrize(
    "said",
    [
        "Yes.",
        NewMessage(role="assistant", parts=[TextPart(text="Yes.")]),
        {"role": "assistant", "content": "Yes."},
        {"choices": [{"message": {"role": "assistant", "content": "Yes."}}]},
        ["Y", "es."],
        [TextPart(text="Y"), TextPart(text="es."), Usage(id="u")],
        ["Y", Usage(id="u"), "es."],
    ],
    ids=["text", "message", "plain", "completion", "pieces", "parts", "usage"],
)
async def test_a_model_is_any_function(chat: sapwood.AsyncSession, said: Any) -> None:
    answer = await AsyncAgent(Script(said)).run("Done?", session=chat)
    assert answer.text == "Yes."
    has_usage = isinstance(said, list) and any(isinstance(it, Usage) for it in said)
    assert [it.calls for it in await chat.usage()] == ([1] if has_usage else [])


async def test_an_empty_answer_ends_the_turn_without_one(chat: sapwood.AsyncSession) -> None:
    answer = await AsyncAgent(Script("")).run("Done?", session=chat)
    assert (answer.reason, answer.message) == ("other", None)
    assert (await chat.find_turn(answer.turn)).state == "interrupted"


async def test_a_session_is_named_or_new(sessions: sapwood.AsyncSessionManager) -> None:
    agent = AsyncAgent(Script("a", "b"), sessions=sessions)
    assert (await agent.run("?", session="one")).session == "one"
    new = await agent.run("?")
    assert await sessions.find(new.session) is not None


# tools


async def test_parallel_calls_run_at_once(chat: sapwood.AsyncSession, meet: Callable) -> None:
    """Each waits for the other."""
    model = Script(called("meet", {}, {}), "Done.")
    answer = await AsyncAgent(model, tools=[tool(name="meet", in_thread=True)(meet)]).run(
        "Go!", session=chat
    )
    assert answer.text == "Done."
    assert model.results == [("met", False), ("met", False)]


async def test_what_goes_wrong_is_told_to_the_model(chat: sapwood.AsyncSession) -> None:
    def fail(why: str) -> str:
        raise ValueError(why)

    model = Script([*called("fail", {"why": "No!"}, {}, "no json"), CALL], "I see.")
    model.said[0][-1] = ToolCallPart(call_id="c9", name="nobody", input={})
    await AsyncAgent(model, tools=[fail]).run("Go!", session=chat)
    texts = [output for output, is_error in model.results if is_error]
    assert texts[0] == "ValueError: No!"
    assert "why" in texts[1]
    assert "JSON" in texts[2]
    assert "no tool 'nobody'" in texts[3]


async def test_a_tool_takes_the_run_and_its_context(chat: sapwood.AsyncSession) -> None:
    told = []

    async def visit(run: AsyncAgentRun, place: str = "Porto") -> str:
        await run.update_context(place=place)
        return f"{run.call_id} in {run.session.id} at {run.context['place']}"

    model = Script(called("visit", {}), "Yes.")
    agent = AsyncAgent(
        model,
        tools=[tool(name="visit")(visit)],
        on_context_update=lambda new, old: told.append((new, old)),
    )
    context: dict[str, Any] = {"place": "Faro"}
    await agent.run("Go!", session=chat, context=context)
    assert model.results == [("c1 in chat at Porto", False)]
    assert model.given[0].tools[-1].schema["properties"].keys() == {"place"}
    assert told == [({"place": "Porto"}, {"place": "Faro"})]
    assert context == {"place": "Porto"}


async def test_a_large_result_is_cut_for_the_model_and_kept_whole(
    chat: sapwood.AsyncSession,
) -> None:
    def read() -> str:
        return "x" * 1000

    model = Script(called("read", {}), "Long.")
    await AsyncAgent(model, tools=[read], max_result_chars=100).run("Go!", session=chat)
    [(shown, _)] = model.results
    assert shown == "x" * 100 + "\n[900 of 1000 characters are left out here]"
    kept = (await chat.history()).messages_only[2]
    assert kept.extra["results"] == {"c1": "x" * 1000}


async def test_what_a_sanitizer_hides_is_kept_nowhere(chat: sapwood.AsyncSession) -> None:
    """Neither beside a result that was cut, nor beside the question."""

    def hide(message: NewMessage) -> NewMessage:
        told = msgspec.json.encode(message.parts).replace(b"4711", b"****")
        return msgspec.structs.replace(message, parts=msgspec.json.decode(told, type=list[Part]))

    def read() -> str:
        return "x" * 200 + "4711"

    chat.with_sanitizer(hide)
    model = Script(called("read", {}), "Long.")
    agent = AsyncAgent(model, tools=[read], max_result_chars=100)
    await agent.run("Go!", session=chat, sent="Her pin is 4711.")
    asked, _, results, _ = (await chat.history()).messages_only
    assert asked.extra["sent"] == "Her pin is ****."
    assert results.extra["results"] == {"c1": "x" * 200 + "****"}
    assert "4711" not in str(model.given)


async def test_a_tool_of_the_session_is_called(sessions: sapwood.AsyncSessionManager) -> None:
    sessions.with_context("memory", max_tokens=100)
    chat = await sessions.session("chat")
    asked = {"label": "memory", "content": "Likes tea."}
    model = Script(called("update_context", asked, {"label": "no"}), "Noted.")
    await AsyncAgent(model).run("I like tea.", session=chat)
    assert (await chat.get_context_block("memory")).content == "Likes tea."
    assert [is_error for _, is_error in model.results] == [False, True]


async def test_two_tools_of_one_name_are_refused(sessions: sapwood.AsyncSessionManager) -> None:
    def update_context() -> None:
        """Clash with the session's own."""

    chat = await sessions.with_context("memory", max_tokens=100).session("chat")
    with pytest.raises(UsageError, match="two tools"):
        AsyncAgent(Script(), tools=[update_context, update_context])
    with pytest.raises(UsageError, match="rename yours"):
        await AsyncAgent(Script(), tools=[update_context]).run("?", session=chat)


# limits


@pytest.mark.parametrize(
    ("limit", "reason"),
    [({"max_steps": 2}, "steps"), ({"max_tokens": 20}, "tokens"), ({"max_cost_micros": 4}, "cost")],
)
async def test_a_limit_ends_a_run(
    chat: sapwood.AsyncSession, limit: dict[str, Any], reason: str
) -> None:
    sent = Sent()
    said = [[*called("send", {"to": "bob"}), Usage(id=f"u{at}", input_tokens=10)] for at in (1, 2)]
    model = Script(*said, "Done.")
    agent = AsyncAgent(model, tools=[sent.tool()], price=lambda usage: 2, **limit)
    answer = await agent.run("Go!", session=chat)
    assert (answer.reason, answer.steps, answer.tokens, answer.cost_micros) == (reason, 2, 20, 4)
    assert sent.to == ["bob", "bob"]
    assert (await chat.find_turn(answer.turn)).reason == reason
    assert (await agent.resume(chat)).text == "Done."


# an input that is too long


class TooLongError(Exception):
    """What a model says."""


@pytest.mark.parametrize("pieces", [[], ["It is "], ["It is ", "x" * 100_000]])
async def test_an_overflow_in_a_stream_is_mended(
    chat: sapwood.AsyncSession, pieces: list[str]
) -> None:
    """Also when something was said before, and stored."""

    def lazy() -> Any:
        yield from pieces
        raise TooLongError("maximum context length is 10 tokens")

    chat.compact_with(create_compact_function(strategy="digest", tail_token_budget=50))
    for _ in range(8):
        await chat.append("user", "It is a long one. " * 20)
        await chat.append("assistant", "So is this. " * 20)
    model = Script(lazy(), "Yes.")
    answer = await AsyncAgent(model).run("Done?", session=chat)
    assert answer.text == "Yes."
    assert model.given[1].tokens < model.given[0].tokens
    assert [it.text for it in (await chat.history(overlays=False)).messages_only][-2:] == [
        "Done?",
        "Yes.",
    ]


class Crash(BaseException):
    """Stands for what no program survives."""


async def test_an_overflow_that_stays_is_told(chat: sapwood.AsyncSession) -> None:
    chat.compact_with(create_compact_function(strategy="digest", tail_token_budget=50))
    for _ in range(8):
        await chat.append("user", "It is a long one. " * 20)
        await chat.append("assistant", "So is this. " * 20)
    error = TooLongError("maximum context length is 10 tokens")
    with pytest.raises(ContextOverflowError, match="even after a compaction"):
        await AsyncAgent(Script(error, error)).run("Done?", session=chat)


# answers that fail


def broken(*pieces: Any) -> Any:
    yield from pieces
    raise ConnectionError("gone")


async def test_what_came_before_a_retry_is_forgotten(chat: sapwood.AsyncSession) -> None:
    sent = Sent()

    def cut() -> Any:
        yield "New"
        raise Crash

    model = Script(broken(TextPart(text="Old"), CALL), cut(), "Yes.")
    agent = AsyncAgent(model, tools=[sent.tool()])
    with pytest.raises(Crash):
        await agent.run("Done?", session=chat)
    assert (await chat.history()).messages_only[-1].text == "New"


async def test_calls_of_an_answer_that_broke_are_not_done(chat: sapwood.AsyncSession) -> None:
    sent = Sent()
    agent = AsyncAgent(Script(broken(CALL), "Yes."), tools=[sent.tool()])
    assert (await agent.run("Done?", session=chat)).text == "Yes."
    assert sent.to == []


async def test_retries_end(chat: sapwood.AsyncSession) -> None:
    model = Script(broken(), broken(), "Yes.")
    with pytest.raises(ConnectionError):
        await AsyncAgent(model, retries=1).run("Done?", session=chat)
    assert len(model.given) == 2


async def test_calls_of_an_answer_that_was_too_long_are_not_done(
    chat: sapwood.AsyncSession,
) -> None:
    sent = Sent()
    call = {"index": 0, "id": "c1", "function": {"name": "send", "arguments": '{"to": "b"}'}}
    delta = {"delta": {"content": "Hm.", "tool_calls": [call]}, "finish_reason": "length"}
    chunk = {"id": "a-1", "choices": [{"index": 0, **delta}]}
    answer = await AsyncAgent(Script([chunk]), tools=[sent.tool()]).run("Go!", session=chat)
    assert (answer.reason, answer.text, sent.to) == ("length", "Hm.", [])


@pytest.mark.parametrize("fence", ["```json\n{}\n```", "\n```\n{}```\n", "```JSON \n{}\n  ```"])
async def test_a_typed_answer_may_stand_in_a_fence(chat: sapwood.AsyncSession, fence: str) -> None:
    class Pair(msgspec.Struct):
        left: int

    agent = AsyncAgent(Script(fence.replace("{}", '{"left": 1}')), output=Pair)
    answer = await agent.run("Go!", session=chat, id="q")
    assert (answer.output, answer.steps) == (Pair(1), 1)
    assert (await agent.run("Go!", session=chat, id="q")).output == Pair(1)


async def test_an_answer_that_never_fits_ends_the_run(chat: sapwood.AsyncSession) -> None:
    class Pair(msgspec.Struct):
        left: int

    model = Script("no", '{"left": "x"}', "{}", '{"left": 1}')
    answer = await AsyncAgent(model, output=Pair).run("Go!", session=chat)
    assert (answer.reason, answer.output, answer.text) == ("output", None, "{}")
    assert "left" in model.given[0].prompt


async def test_a_result_that_the_store_does_not_take_is_cut(tmp_path: Any) -> None:
    url = f"sqlite:///{tmp_path}/small.db"
    async with sapwood.open_async(url, max_message_bytes=2_000) as sessions:
        model = Script(called("read", {}), "Long.")
        agent = AsyncAgent(
            model, tools=[tool(name="read")(lambda: "x" * 9_000)], max_result_chars=100
        )
        answer = await agent.run("Go!", session=await sessions.session("chat"))
        assert answer.text == "Long."


# approvals


@pytest.mark.parametrize("approve", [True, False, {"c1": True}, {"c1": False}])
async def test_a_call_waits_for_an_approval(chat: sapwood.AsyncSession, approve: Any) -> None:
    sent = Sent()
    model = Script([CALL], "Done.")
    agent = AsyncAgent(model, tools=[sent.tool(needs_approval=True)])
    answer = await agent.run("Go!", session=chat)
    assert (answer.reason, answer.waiting) == ("waiting", [CALL])
    assert (await chat.find_turn(answer.turn)).state == "waiting"
    assert (await agent.resume(chat)).waiting == [CALL]
    assert sent.to == []
    answer = await agent.resume(chat, approve=approve)
    is_yes = approve in (True, {"c1": True})
    assert answer.text == "Done."
    assert sent.to == (["bob"] if is_yes else [])
    assert model.results[0][1] is not is_yes


@pytest.mark.parametrize("approve", ["yes", 1, {"typo": True}, {"c1": "yes"}, {1: True}])
async def test_an_approval_of_nothing_is_refused_and_the_turn_waits_on(
    chat: sapwood.AsyncSession, approve: Any
) -> None:
    sent = Sent()
    agent = AsyncAgent(
        Script([CALL], "Done."), tools=[sent.tool(needs_approval=True, repeatable=False)]
    )
    answer = await agent.run("Go!", session=chat)
    with pytest.raises(UsageError, match="'c1'") as told:
        await agent.resume(chat, approve=approve)
    assert told.value.path == "approve"
    assert (await chat.find_turn(answer.turn)).state == "waiting"
    assert (await agent.resume(chat, approve={"c1": True})).is_complete
    assert sent.to == ["bob"]


@pytest.mark.parametrize("approve", [True, {"c1": True}])
async def test_an_approval_is_for_the_calls_that_wait(
    chat: sapwood.AsyncSession, approve: Any
) -> None:
    """The model asks for the same again, under the same id."""
    sent = Sent()
    agent = AsyncAgent(Script([CALL], [CALL], "Done."), tools=[sent.tool(needs_approval=True)])
    await agent.run("Go!", session=chat)
    assert (await agent.resume(chat, approve=approve)).waiting == [CALL]
    assert sent.to == ["bob"]


async def test_an_approval_may_depend_on_the_arguments(chat: sapwood.AsyncSession) -> None:
    sent = Sent()
    careful = sent.tool(needs_approval=lambda arguments: arguments["to"] == "bob")
    model = Script(called("send", {"to": "eve"}, {}), [CALL], "Done.")
    agent = AsyncAgent(model, tools=[careful])
    assert (await agent.run("Go!", session=chat)).waiting == [CALL]
    assert sent.to == ["eve"]
    assert (await agent.resume(chat, approve=True)).is_complete


# going on


async def test_a_question_is_answered_once(chat: sapwood.AsyncSession) -> None:
    agent = AsyncAgent(Script("Yes."))
    first = await agent.run("Done?", session=chat, id="q")
    again = await agent.run("Done?", session=chat, id="q")
    assert again.message == first.message


async def test_an_answer_is_given_anew(chat: sapwood.AsyncSession) -> None:
    agent = AsyncAgent(Script("Yes.", "No."))
    await agent.run("Done?", session=chat, id="q")
    await chat.retry_from()
    answer = await agent.resume(chat)
    assert (answer.text, answer.turn) == ("No.", "q")
    assert (await agent.resume(chat)).text == "No."
    assert [it.text for it in (await chat.history()).messages_only] == ["Done?", "No."]


@pytest.mark.parametrize("way", ["appended", "inherited"])
async def test_a_question_that_no_turn_answered_is_answered(
    sessions: sapwood.AsyncSessionManager, way: str
) -> None:
    model = Script("No.", "Yes.")
    agent = AsyncAgent(model)
    chat = await sessions.session("chat")
    if way == "inherited":
        await agent.run("Done?", session=chat)
        await chat.retry_from()
        chat = await chat.fork()
    else:
        model.said.pop(0)
        await chat.append("user", "Done?", name="Ada", metadata={"by": "another program"})
    answer = await agent.resume(chat)
    assert (answer.reason, answer.text) == ("complete", "Yes.")
    assert [it.text for it in (await chat.history()).messages_only] == ["Done?", "Yes."]


async def test_a_hook_may_store_the_answer_that_grows(
    sessions: sapwood.AsyncSessionManager,
) -> None:
    runs: list[AsyncAgentRun] = []
    chat = await sessions.session("chat")

    def model(given: ModelInput) -> Any:
        return iter(["Y", "es."])

    async with AsyncAgent(model, before_respond=lambda run, given: runs.append(run)).run_stream(
        "Done?", session=chat
    ) as stream:
        await anext(stream)
        partial = runs[0].partial
        assert partial is not None
        await partial.save()
        assert (await chat.get(partial.id)).text == "Y"
        async for _ in stream:
            pass
    assert (stream.answer.text, runs[0].partial) == ("Yes.", None)


@pytest.mark.parametrize("way", ["resume", "id"])
async def test_a_cut_answer_is_asked_for_again(chat: sapwood.AsyncSession, way: str) -> None:
    def cut() -> Any:
        yield "It is "
        yield "no"
        raise Crash

    agent = AsyncAgent(Script(cut(), "Yes."))
    with pytest.raises(Crash):
        await agent.run("Done?", session=chat, id="q")
    cut_off = (await chat.history()).messages_only[-1]
    assert (cut_off.text, cut_off.extra["turn"]["state"]) == ("It is no", "interrupted")
    resumed = agent.resume(chat) if way == "resume" else agent.run("Done?", session=chat, id="q")
    answer = await resumed
    assert [it.text for it in (await chat.history()).messages_only] == ["Done?", "Yes."]
    assert answer.turn == "q"


@pytest.mark.parametrize("repeatable", [True, False])
async def test_calls_whose_results_are_lost_are_done_again_if_they_may_be(
    chat: sapwood.AsyncSession, repeatable: bool
) -> None:
    sent: list[str] = []

    def send(to: str) -> str:
        sent.append(to)
        if len(sent) == 1:
            raise Crash
        return "sent"

    model = Script([CALL], "Done.")
    agent = AsyncAgent(model, tools=[tool(repeatable=repeatable)(send)])
    with pytest.raises(Crash):
        await agent.run("Go!", session=chat)
    assert (await agent.resume(chat)).text == "Done."
    assert len(sent) == (2 if repeatable else 1)
    assert model.results[0][1] is not repeatable


async def test_a_run_is_stopped_from_outside(chat: sapwood.AsyncSession) -> None:
    async def stop(run: AsyncAgentRun) -> str:
        await run.session.stop_turn()
        return "stopped"

    agent = AsyncAgent(Script(called("stop", {}), "Done."), tools=[stop])
    answer = await agent.run("Go!", session=chat)
    assert answer.reason == "stopped"
    assert (await chat.find_turn(answer.turn)).reason == "stopped"


async def test_a_stream_that_is_left_leaves_the_turn(chat: sapwood.AsyncSession) -> None:
    agent = AsyncAgent(Script(["It ", "is ", "done."], "Yes."))
    async with agent.run_stream("Done?", session=chat, id="q") as stream:
        async for _ in stream:
            break
        with pytest.raises(UsageError, match="not over"):
            _ = stream.answer
    assert (await chat.find_turn("q")).state == "interrupted"
    assert (await agent.resume(chat)).text == "Yes."


async def test_two_runs_in_one_session_take_turns(chat: sapwood.AsyncSession) -> None:
    async with chat.turn() as turn:
        await turn.append("user", "Mine.")
        with pytest.raises(SessionBusyError):
            await AsyncAgent(Script()).run("Mine!", session=chat, wait_s=0)
        await turn.complete("assistant", "Yours.")


# delegation


async def test_a_sub_agent_answers_in_a_session_of_its_own(
    sessions: sapwood.AsyncSessionManager, chat: sapwood.AsyncSession
) -> None:
    helper = AsyncAgent(Script("It is 42."), name="helper", description="Counts.")
    model = Script(called("helper", {"task": "Count."}), "42, then.")
    answer = await AsyncAgent(model, tools=[helper]).run("How many?", session=chat)
    assert answer.text == "42, then."
    assert model.results == [("It is 42.", False)]
    page = await sessions.list_sessions(kind="delegate")
    [below] = page.sessions
    assert (below.parent.session, below.parent.kind.value) == ("chat", "delegate")
    assert (await sessions.list_sessions()).sessions[0].id == "chat"


async def test_a_sub_agent_waits_and_goes_on(chat: sapwood.AsyncSession) -> None:
    sent = Sent()
    below = Script([CALL], "Sent.")
    helper = AsyncAgent(below, name="helper", tools=[sent.tool(needs_approval=True)])
    other: list[int] = []

    def note() -> int:
        other.append(1)
        return len(other)

    both = [
        ToolCallPart(call_id="c5", name="helper", input={"task": "Send."}),
        ToolCallPart(call_id="c6", name="note", input={}),
    ]
    model = Script(both, "All done.")
    agent = AsyncAgent(model, tools=[helper, note])
    below_c5 = msgspec.structs.replace(CALL, call_id="c5/c1")
    assert (await agent.run("Go!", session=chat)).waiting == [below_c5]
    for unknown in ("typo", "c1"):
        with pytest.raises(UsageError, match=f"'{unknown}', which does not wait"):
            await agent.resume(chat, approve={unknown: True})
    with pytest.raises(UsageError, match="'c5/typo', which does not wait: 'c5/c1' do"):
        await agent.resume(chat, approve={"c5/typo": True})
    answer = await agent.resume(chat, approve={"c5/c1": True})
    assert (answer.text, sent.to, other) == ("All done.", ["bob"], [1])


# hooks


async def test_before_respond_sees_and_changes_the_input(chat: sapwood.AsyncSession) -> None:
    def whisper(run: AsyncAgentRun, given: ModelInput) -> ModelInput:
        return msgspec.structs.replace(given, prompt=f"{given.prompt} In {run.session.id}.")

    model = Script("Yes.")
    await AsyncAgent(model, instructions="Be brief.", before_respond=whisper).run("?", session=chat)
    assert model.given[0].prompt == "Be brief. In chat."
