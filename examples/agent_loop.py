"""An agent with tools and a memory, on any OpenAI-compatible endpoint; it goes on where it was.

    python examples/agent_loop.py "What is 17 * 23?"

Set OPENAI_API_KEY, and perhaps OPENAI_BASE_URL and MODEL (pip install 'sapwood[openai]'); without,
a scripted stand-in answers. The conversation is in agent.db.
"""

import sys
from typing import Any

from standin import MODEL, connect

import sapwood
from sapwood import Session, ToolCallPart, ToolResultPart
from sapwood.compaction import create_compact_function
from sapwood.formats import from_openai_chat, input_to_openai_chat
from sapwood.model import ModelInput, ToolDefinition, Usage

SCHEMA = {"type": "object", "properties": {"expression": {"type": "string"}}}
MULTIPLY = ToolDefinition(name="multiply", description="Multiply, as in '6 * 7'.", schema=SCHEMA)


def answer(chat: Session, client: Any, question: str) -> str:
    def call(given: ModelInput) -> Any:
        return client.chat.completions.create(model=MODEL, **input_to_openai_chat(given))

    chat.append("user", question)
    while True:
        # When it is too long, this compacts and tries once more.
        reply = chat.call_model(call, tools=[MULTIPLY])
        [new] = from_openai_chat(reply.choices[0].message)
        said = chat.append(new)
        tokens = {"input_tokens": reply.usage.prompt_tokens}
        tokens["output_tokens"] = reply.usage.completion_tokens
        chat.add_usage(Usage(id=said.id, message=said.id, model=reply.model, **tokens))
        calls = [part for part in said.parts if isinstance(part, ToolCallPart)]
        if not calls:
            return said.text
        chat.append("tool", [run(chat, call) for call in calls])


def run(chat: Session, call: ToolCallPart) -> ToolResultPart:
    if call.name != MULTIPLY.name:  # one of the session's own
        return ToolResultPart(call_id=call.call_id, output=chat.call_tool(call.name, call.input))
    try:
        left, right = call.input["expression"].split("*")
        return ToolResultPart(call_id=call.call_id, output=float(left) * float(right))
    except Exception as error:  # noqa: BLE001 - whatever a model writes, it is told what was wrong
        return ToolResultPart(call_id=call.call_id, output=repr(error), is_error=True)


if __name__ == "__main__":
    with sapwood.open("sqlite:///agent.db").with_context("memory", max_tokens=500) as sessions:
        sessions.compact_with(create_compact_function(strategy="digest"))
        chat = sessions.session("agent", budget=100_000)
        print(answer(chat, connect(), " ".join(sys.argv[1:]) or "What is 17 * 23?"))
        print(*(f"[{it.calls} calls, {it.input_tokens:,} tokens in]" for it in chat.usage()))
