"""Each mistake that is easily made is answered with what to do, and nothing is stored."""

from __future__ import annotations

from typing import Any

import pytest

import sapwood
from sapwood import AsyncSession, AsyncSessionManager, OtherPart, TextPart, ToolCallPart, formats
from sapwood.errors import NotFoundError, UsageError
from sapwood.model import FilePart, NewMessage, ToolResultPart

CALL = ToolCallPart(call_id="call_0", name="look", input={"at": "here"})
RESULT = ToolResultPart(call_id="call_0", output="42")


@pytest.mark.parametrize(
    ("role", "content", "told"),
    [
        ("asistant", "hello", r"'asistant': did you mean 'assistant'\?"),
        ("User", "hello", r"did you mean 'user'"),
        ("narrator", "once", r"use system, developer, user, assistant, tool"),
        ("Where is my order?", "user", r"swapped: the role comes first, append\('user', "),
        ("user", {"type": "image_ulr", "x": 1}, r"'image_ulr', which is not known: did you mean"),
        ("user", {"type": "image_url", "url": "x"}, r"'image_url', and no 'image_url'"),
        ("user", {"text": "hello"}, r'has no type: give the text itself, or \{"type": "text"'),
        ("user", [{"role": "user", "content": "x"}], r"content\[0\] is a whole message"),
        ("user", {"source": {}}, r"looks most like the type 'image'"),
        ("user", {"content": "hello"}, r"most like a message without a role"),
        ("user", [{"type": "image_url", "image_url": 5}], r"content\[0\].image_url is an int"),
        (5, "hello", r"role is an int: "),
        ("user", {"type": "text", "text": 5}, r"its fields are not those of one"),
        ("user", {"type": "image", "source": 5}, r"source is an int"),
        ("user", 5, r"content is an int"),
        ("tool", "it is sunny", r"holds results: give ToolResultPart"),
        ("tool", RESULT, r"no call 'call_0' was made"),
        ("user", [RESULT], r"no call 'call_0' was made"),
    ],
)
async def test_a_mistake_is_told_and_not_stored(
    chat: AsyncSession, role: str, content: Any, told: str
) -> None:
    for _ in range(2):
        with pytest.raises(UsageError, match=told):
            await chat.append(role, content)
        with pytest.raises(UsageError, match=told.replace(r"content\[", r"content\[")):
            await chat.append_all([("user", "first"), (role, content)])
        with pytest.raises(UsageError, match=told):
            await chat.upsert(role, content, id="m")
    assert (await chat.history()).entries == []


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ({"content": "hello"}, r"message has no role"),
        ({"choices": [{"message": {}}]}, r"give its message: response.choices\[0\].message"),
        ({"output": [], "object": "response"}, r"append_all: response.output"),
        ({"role": "user", "content": [{"type": "imag_url"}]}, r"message.content\[0\].*did you"),
        ({"role": "user"}, r"no content"),
        ({"role": "asistant", "content": "hi"}, r"did you mean 'assistant'"),
        ({"role": "user", "content": [7]}, r"message.content\[0\] is an int"),
        ({"role": "assistant", "tool_calls": [{"id": 5}]}, r"message.tool_calls\[0\].id"),
    ],
)
async def test_a_message_of_no_known_form_is_refused(
    chat: AsyncSession, message: dict[str, Any], told: str
) -> None:
    with pytest.raises(UsageError, match=told):
        await chat.append(message)
    with pytest.raises(
        UsageError,
        match=told if "response" in told else told.replace("message", r"messages\[1\]", 1),
    ) as caught:
        await chat.append_all([("user", "first"), message])
    assert "response" in told or not caught.value.path.startswith("message.")
    assert (await chat.history()).entries == []


async def test_a_session_has_roles_of_its_own(sessions: AsyncSessionManager) -> None:
    store = sessions.store
    play = AsyncSession.create(store, owner="ada", id="play", roles={"narrator"})
    assert (await play.append("narrator", "Once")).role == "narrator"
    with pytest.raises(UsageError, match="did you mean 'narrator'"):
        await play.append("narator", "upon")


async def test_a_session_of_a_manager_has_roles_of_its_own(sessions: AsyncSessionManager) -> None:
    """For this object alone: they are not stored."""
    for _ in range(2):
        play = await sessions.session("play", roles={"narrator"})
        await play.append("narrator", "Once")
    await (await sessions.session("lazy", lazy=True, roles={"narrator"})).append("narrator", "a")
    made = await sessions.create("made", roles=["narrator"])
    await made.with_roles({"chorus"}).append_all([("narrator", "a"), ("chorus", "b")])
    with pytest.raises(UsageError, match="there is no role 'narrator'"):
        await (await sessions.session("play")).append("narrator", "upon")
    with pytest.raises(UsageError, match="roles must be a set of names"):
        await sessions.session("play", roles="narrator")


async def test_a_keyword_that_is_misspelt_is_told_with_the_nearest(
    sessions: AsyncSessionManager,
) -> None:
    with pytest.raises(UsageError, match="no keyword 'titel': did you mean 'title'"):
        await sessions.session("chat", titel="x")  # type: ignore[call-arg]
    with pytest.raises(UsageError, match="no keyword 'onwer': did you mean 'owner'"):
        sapwood.open_async("memory://", onwer="ada")  # type: ignore[call-arg]
    with pytest.raises(UsageError, match="sqlit:// is not known: did you mean 'sqlite'"):
        sapwood.open_async("sqlit:///agent.db")


async def test_any_other_object_is_stored_on_purpose(chat: AsyncSession) -> None:
    part = OtherPart({"kind": "citation"})
    assert part == OtherPart(value={"kind": "citation"})
    assert (await chat.append("user", [part])).parts == [part]


CHAT_TURN: list[dict[str, Any]] = [
    {"role": "user", "content": [{"type": "text", "text": "What is it?"}]},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "c1",
                "type": "function",
                "function": {"name": "look", "arguments": '{"at": "here"}'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "42"},
    {"role": "assistant", "content": "It is 42."},
]
CLAUDE_TURN: list[dict[str, Any]] = [
    {"role": "user", "content": "What is it?"},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "s"},
            {"type": "tool_use", "id": "c1", "name": "look", "input": {"at": "here"}},
        ],
    },
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "42"}]},
    {"role": "assistant", "content": [{"type": "text", "text": "It is 42."}]},
]
RESPONSES_TURN: list[dict[str, Any]] = [
    {"role": "user", "content": [{"type": "input_text", "text": "What is it?"}]},
    {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}]},
    {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"at": "here"}'},
    {"type": "function_call_output", "call_id": "c1", "output": "42"},
    {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "It is 42.", "annotations": []}],
    },
]
UI_TURN: list[dict[str, Any]] = [
    {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "What is it?"}]},
    {
        "id": "a1",
        "role": "assistant",
        "parts": [
            {"type": "step-start"},
            {
                "type": "tool-look",
                "toolCallId": "c1",
                "state": "output-available",
                "input": {"at": "here"},
                "output": "42",
            },
            {"type": "text", "text": "It is 42.", "state": "done"},
        ],
    },
]


@pytest.mark.parametrize(
    ("turn", "write"),
    [
        (CHAT_TURN, formats.to_openai_chat),
        (CLAUDE_TURN, formats.to_anthropic),
        (RESPONSES_TURN, formats.to_openai_responses),
        (UI_TURN, formats.to_ai_sdk),
    ],
)
async def test_a_vendors_whole_messages_are_stored_as_ours_and_come_out_as_they_came(
    sessions: AsyncSessionManager, turn: list[dict[str, Any]], write: Any
) -> None:
    chat = await sessions.session("all")
    await chat.append_all(turn)
    stored = (await chat.history()).messages_only
    assert write(stored) == turn
    parts = [part for message in stored for part in message.parts]
    assert [part.output for part in parts if isinstance(part, ToolResultPart)] == ["42"]
    assert [part.input for part in parts if isinstance(part, ToolCallPart)] == [{"at": "here"}]
    assert stored[0].text == "What is it?"
    one_by_one = await sessions.session("one")
    for message in turn:
        await one_by_one.append(message)
    again = (await one_by_one.history()).messages_only
    assert [message.parts for message in again] == [message.parts for message in stored]


IMAGE = FilePart(media_type="image/png", uri="https://a.example/x.png")


@pytest.mark.parametrize(
    "image",
    [
        {"type": "image_url", "image_url": {"url": "https://a.example/x.png"}},
        {"type": "input_image", "image_url": "https://a.example/x.png"},
        {"type": "image", "source": {"type": "url", "url": "https://a.example/x.png"}},
        {"type": "file", "mediaType": "image/png", "url": "https://a.example/x.png"},
    ],
)
async def test_a_vendors_image_becomes_a_file(chat: AsyncSession, image: dict[str, Any]) -> None:
    mixed = await chat.append("user", ["Look:", image, TextPart(text="Well?")])
    assert [type(part).__name__ for part in mixed.parts] == ["TextPart", "FilePart", "TextPart"]
    [part] = [part for part in mixed.parts if isinstance(part, FilePart)]
    assert part.uri == IMAGE.uri
    assert part.media_type.startswith("image/")
    alone = await chat.append("user", image, metadata={"from": "web"})
    assert isinstance(alone.parts[0], FilePart)
    assert alone.metadata["from"] == "web"


async def test_a_result_answers_a_call_that_was_made(sessions: AsyncSessionManager) -> None:
    chat = await sessions.session("chat")
    for _ in range(3):  # some servers use their ids again, which is fine once they are answered
        await chat.append("assistant", [CALL])
        await chat.append("tool", [RESULT])
    with pytest.raises(UsageError, match="answered already"):
        await chat.append("tool", [RESULT])
    await chat.append("assistant", [CALL])
    # Whoever takes the session up again finds the call in what is stored.
    await (await sessions.get("chat")).append("tool", [RESULT], id="r")
    # A retry is answered by the store.
    assert (await (await sessions.get("chat")).append("tool", [RESULT], id="r")).depth == 8


async def test_a_call_far_above_is_found(sessions: AsyncSessionManager) -> None:
    chat = await sessions.session("chat")
    first = await chat.append("assistant", [CALL])
    await chat.append_all([("user", f"wait {index}") for index in range(120)])
    assert (await (await sessions.get("chat")).append("tool", [RESULT])).depth == 122
    with pytest.raises(UsageError, match="was made"):
        await chat.append("tool", [RESULT], parent=sapwood.ROOT)
    assert (await chat.append("tool", [RESULT], parent=first)).depth == 2


async def test_a_call_of_another_branch_is_not_answered(chat: AsyncSession) -> None:
    start = await chat.append("user", "go")
    await chat.append("assistant", [CALL])
    await chat.checkout(start)
    with pytest.raises(UsageError, match="was made"):
        await chat.append("tool", [RESULT])


async def test_an_importer_stores_what_was_parted(chat: AsyncSession) -> None:
    assert (await chat.append("tool", [RESULT], allow_orphans=True)).parts == [RESULT]
    await chat.append_all([("tool", "text")], allow_orphans=True)


async def test_a_sanitizer_sees_each_message_and_may_change_or_refuse_it(
    sessions: AsyncSessionManager,
) -> None:
    def clean(message: NewMessage) -> NewMessage:
        if message.metadata:
            raise PermissionError("no metadata")
        parts = [TextPart(text=message.text.replace("4711", "****"))]
        return NewMessage(role=message.role, parts=parts, id=message.id)

    chat = (await sessions.session("chat")).with_sanitizer(clean)
    said = await chat.append("user", "my pin is 4711")
    assert said.text == "my pin is ****"
    assert (await chat.update(said, "it is 4711 again")).text == "it is **** again"
    assert (await chat.upsert("user", "4711", id="u")).text == "****"
    assert (await chat.edit("u", "5 4711")).text == "5 ****"
    assert [it.text for it in await chat.append_all([("user", "4711")])] == ["****"]
    with pytest.raises(PermissionError, match="no metadata"):
        await chat.append("user", "x", metadata={"a": 1})
    with pytest.raises(UsageError, match="sanitizer gave None"):
        await chat.with_sanitizer(lambda _: None).append("user", "x")  # type: ignore[arg-type, return-value]


async def test_an_unknown_session_is_told_with_the_nearest(sessions: AsyncSessionManager) -> None:
    await sessions.session("support")
    with pytest.raises(NotFoundError, match="'suport': did you mean 'support'"):
        await sessions.get("suport")
    with pytest.raises(NotFoundError, match=r"create it with session\('else'\)"):
        await sessions.get("else")


def look(at: str) -> str:
    return at


@pytest.mark.parametrize(
    ("tool", "told"),
    [
        ({"type": "function", "function": {"name": "look"}}, r"a dict: give .*name='look'"),
        ({"name": "look", "input_schema": {}}, r"a dict: give ToolDefinition\(name='look'"),
        (look, r"a function: give ToolDefinition\(name='look'.* call the function yourself"),
    ],
)
async def test_a_tool_in_another_form_is_told(chat: AsyncSession, tool: Any, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        await chat.prepare(tools=[tool])
