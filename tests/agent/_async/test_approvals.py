"""Whom an approval is for: the call that somebody was shown, and no other one."""

from __future__ import annotations

from typing import Any

import pytest

import sapwood
from sapwood.agent import AsyncAgent, tool
from sapwood.errors import UsageError
from sapwood.model import ToolCallPart

CALL = ToolCallPart(call_id="c1", name="send", input={"to": "bob"})
OTHER = ToolCallPart(call_id="c2", name="send", input={"to": "eve"})


class Script:
    """A model that says one thing after the other."""

    def __init__(self, *said: Any) -> None:
        self.said = list(said)

    def __call__(self, given: Any) -> Any:
        return self.said.pop(0)


class Sent:
    """A tool that notes what it did."""

    def __init__(self) -> None:
        self.to: list[str] = []

    def tool(self, **settings: Any) -> Any:
        def send(to: str) -> str:
            self.to.append(to)
            return "sent"

        return tool(**settings)(send)


async def test_sub_agents_may_give_their_calls_the_same_ids(chat: sapwood.AsyncSession) -> None:
    sent = Sent()
    tools = [sent.tool(needs_approval=True)]
    other = ToolCallPart(call_id="c1", name="send", input={"to": "eve"})
    tasks = [
        ToolCallPart(call_id=id, name=name, input={"task": "Send."})
        for id, name in (("d1", "one"), ("d2", "two"))
    ]
    one = AsyncAgent(Script([CALL], "Sent."), name="one", tools=tools)
    two = AsyncAgent(Script([other], "Not sent."), name="two", tools=tools)
    agent = AsyncAgent(Script(tasks, "Done."), tools=[one, two])
    waiting = (await agent.run("Go!", session=chat)).waiting
    assert [call.call_id for call in waiting] == ["d1/c1", "d2/c1"]
    answer = await agent.resume(chat, approve={"d1/c1": True, "d2/c1": False})
    assert (answer.text, sent.to) == ("Done.", ["bob"])


@pytest.mark.parametrize("approve", [False, {"c1": False}])
async def test_what_was_denied_is_not_done_when_the_tool_needs_no_approval_any_more(
    chat: sapwood.AsyncSession, approve: Any
) -> None:
    sent = Sent()
    await AsyncAgent(Script([CALL]), tools=[sent.tool(needs_approval=True)]).run("?", session=chat)
    agent = AsyncAgent(Script("Done."), tools=[sent.tool()])
    assert (await agent.resume(chat, approve=approve)).text == "Done."
    assert sent.to == []


async def test_a_part_of_the_calls_is_approved(chat: sapwood.AsyncSession) -> None:
    sent = Sent()
    agent = AsyncAgent(Script([CALL, OTHER], "Done."), tools=[sent.tool(needs_approval=True)])
    await agent.run("Go!", session=chat)
    assert (await agent.resume(chat, approve={"c1": True})).waiting == [OTHER]
    assert sent.to == ["bob"]
    assert (await agent.resume(chat, approve={"c2": True})).text == "Done."
    assert sent.to == ["bob", "eve"]


async def test_an_approval_that_comes_too_late_is_refused(chat: sapwood.AsyncSession) -> None:
    sent = Sent()
    agent = AsyncAgent(Script([CALL], "Sure."), tools=[sent.tool(needs_approval=True)])
    await agent.run("Send it.", session=chat)
    await agent.run("Never mind.", session=chat)
    with pytest.raises(UsageError, match="'c1', which does not wait") as told:
        await agent.resume(chat, approve={"c1": True})
    assert (told.value.path, sent.to) == ("approve", [])
