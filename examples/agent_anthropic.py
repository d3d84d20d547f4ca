"""An agent on Anthropic's SDK: it streams, calls tools, answers anew, and goes on after a crash.

    python examples/agent_anthropic.py "Shall I take an umbrella in Porto?"

Set ANTHROPIC_API_KEY (pip install 'sapwood[anthropic]'). The conversation is in agent.db:
killed at any moment, it goes on with its question when it is started again.
"""

import os
import sys

import anthropic

import sapwood
from sapwood.agent import Agent, AgentStream, AnthropicMessages
from sapwood.streaming import CallEvent, TextEvent


def weather(city: str, days: int = 1) -> str:
    """Tell the weather in a city for so many days."""
    return f"Rain in {city} for {days} of {days} days."


def show(stream: AgentStream) -> None:
    for event in stream:
        if isinstance(event, TextEvent | CallEvent):
            print(event.text if isinstance(event, TextEvent) else event.part, end=" ", flush=True)
    print(f"[{stream.answer.reason}] {stream.answer.text}")


with sapwood.open("sqlite:///agent.db", owner="ada") as sessions:
    model = AnthropicMessages(anthropic.Anthropic(), os.environ.get("MODEL", "claude-haiku-4-5"))
    agent = Agent(model, tools=[weather], instructions="Be brief.", sessions=sessions)
    chat = sessions.session("umbrella")
    show(agent.run_stream(sys.argv[1], session=chat, id="question-1"))
    chat.retry_from()
    show(agent.resume_stream(chat))  # the question again: the first answer stays on its branch
    show(agent.run_stream("And in Faro?", session=chat.fork()))
    print(*(f"[{it.calls} calls, {it.input_tokens:,} tokens in]" for it in chat.usage()))
