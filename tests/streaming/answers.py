"""Answers as the vendors stream them, as plain objects, with all that may be in one."""

from __future__ import annotations

from typing import Any

from endpoint import completions, messages, responses

Json = dict[str, Any]


def chat_call(index: int | None, id: str | None, name: str | None, arguments: Any) -> Json:
    """Give a piece of a call, as a delta has it."""
    function = {"arguments": arguments} if name is None else {"name": name, "arguments": arguments}
    piece: Json = {"function": function}
    piece |= {} if index is None else {"index": index}
    return piece if id is None else {**piece, "id": id, "type": "function"}


def chat() -> list[Json]:
    """Think, speak, and call two tools at once."""
    chunk = completions.chunk
    deltas: list[Json] = [
        {"role": "assistant", "content": ""},
        {"reasoning_content": "Look "},
        {"reasoning_content": "it up."},
        {"content": "One "},
        {"content": "moment."},
        {"tool_calls": [chat_call(0, "call_a", "find", "")]},
        {"tool_calls": [chat_call(0, None, None, '{"q": ')]},
        {"tool_calls": [chat_call(1, "call_b", "weather", "")]},
        {"tool_calls": [chat_call(1, None, None, '{"city":'), chat_call(0, None, None, '"x"}')]},
        {"tool_calls": [chat_call(1, None, None, '"Lisbon"}')]},
    ]
    usage = {**chunk({}), "choices": [], "usage": completions.USAGE}
    return [*map(chunk, deltas), chunk({}, finish="tool_calls"), usage]


THOUGHT = {"type": "thinking", "thinking": "Look it up.", "signature": "EqQBCkYI"}
SECRET = {"type": "redacted_thinking", "data": "EmwKAhgB"}
CITED = {
    "type": "text",
    "text": "One moment.",
    "citations": [
        {
            "type": "char_location",
            "cited_text": "moment",
            "document_index": 0,
            "document_title": None,
            "start_char_index": 0,
            "end_char_index": 6,
        }
    ],
}
SEARCH = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "x"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": []}
CALL_A = {"type": "tool_use", "id": "toolu_a", "name": "find", "input": {"q": "x"}}
CALL_B = {"type": "tool_use", "id": "toolu_b", "name": "now", "input": {}}
CONTENT: list[Json] = [THOUGHT, SECRET, SEARCH, FOUND, CITED, CALL_A, CALL_B]


def claude(content: list[Json] = CONTENT, stop: str | None = "tool_use", **end: Any) -> list[Json]:
    """Think, search at the vendor, speak with a citation, and call two tools."""
    counts = {**messages.USAGE, "output_tokens": 1}
    del counts["output_tokens_details"]
    begun = messages.message([], stop_reason=None, usage=counts)
    told: list[Json] = [{"type": "message_start", "message": begun}]
    for index, block in enumerate(content):
        told += _block(index, block)
    told.append(
        {
            "type": "message_delta",
            "delta": {"stop_reason": stop, "stop_sequence": None, **end},
            "usage": {"output_tokens": 80, "output_tokens_details": {"thinking_tokens": 30}},
        }
    )
    return [*told, {"type": "message_stop"}]


def _block(index: int, block: Json) -> list[Json]:
    empty, deltas = block, []
    match block:
        case {"type": "text"}:
            empty = {"type": "text", "text": ""}
            deltas = [{"type": "text_delta", "text": it} for it in responses.pieces(block["text"])]
            if "citations" in block:
                empty["citations"] = None
            for it in block.get("citations", []):
                deltas.append({"type": "citations_delta", "citation": it})
        case {"type": "thinking"}:
            empty = {"type": "thinking", "thinking": "", "signature": ""}
            pieces = responses.pieces(block["thinking"])
            deltas = [{"type": "thinking_delta", "thinking": it} for it in pieces]
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
        case {"type": "tool_use" | "server_tool_use", "input": asked}:
            empty = {**block, "input": {}}
            raw = messages.json.dumps(asked) if isinstance(asked, dict) else asked
            pieces = ["", *responses.pieces(raw)] if asked else [""]
            deltas = [{"type": "input_json_delta", "partial_json": it} for it in pieces]
    return [
        {"type": "content_block_start", "index": index, "content_block": empty},
        *({"type": "content_block_delta", "index": index, "delta": it} for it in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def said(text: str) -> Json:
    return {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}],
    }


OUTPUT: list[Json] = [
    {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [
            {"type": "summary_text", "text": "Look it up."},
            {"type": "summary_text", "text": "Then answer."},
        ],
        "encrypted_content": "gAAAAABo",
    },
    {"type": "web_search_call", "id": "ws_1", "status": "completed"},
    said("One moment."),
    {
        "type": "mcp_call",
        "id": "mcp_1",
        "name": "ask",
        "server_label": "docs",
        "arguments": '{"question": "x"}',
        "output": "y",
        "error": None,
    },
    {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "call_a",
        "name": "find",
        "arguments": '{"q": "x"}',
        "status": "completed",
    },
    {
        "type": "custom_tool_call",
        "id": "ctc_1",
        "call_id": "call_b",
        "name": "shell",
        "input": "ls -l",
    },
]


def response() -> list[Json]:
    """Think in two steps, search and ask at the vendor, speak, and call two tools."""
    return responses.events(OUTPUT)


ALL = {"openai_chat": chat, "anthropic": claude, "openai_responses": response}
