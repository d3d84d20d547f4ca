"""What a summariser does when the endpoint does not do its part."""

from __future__ import annotations

from typing import Any

import pytest
from endpoint import Drop, Endpoint, Hang, Reply

from sapwood.errors import CompactionError

from ..protocols import SUMMARY, Protocol
from .conftest import Make

LIMITED = Reply({"error": {"message": "slow down"}}, 429, {"Retry-After": "0.01"})
BROKEN = Reply({"error": {"message": "oops"}}, 500, {"Retry-After": "0.01"})
HTML = "<!doctype html><html><body>Welcome to the proxy</body></html>"


async def test_a_time_out_is_the_sdk_s_error(
    protocol: Protocol, make: Make, endpoint: Endpoint
) -> None:
    endpoint.prepare(Hang())
    with pytest.raises(protocol.sdk.APITimeoutError):
        await make(timeout_s=0.05, max_retries=0)("Summarise.")
    assert len(endpoint.asked) == 1


async def test_a_rate_limit_is_waited_for(
    protocol: Protocol, make: Make, endpoint: Endpoint
) -> None:
    endpoint.prepare(LIMITED, protocol.answer(SUMMARY))
    assert (await make()("Summarise.")).text == SUMMARY
    assert len(endpoint.asked) == 2


async def test_a_rate_limit_without_retries_is_the_sdk_s_error(
    protocol: Protocol, make: Make, endpoint: Endpoint
) -> None:
    endpoint.prepare(LIMITED)
    with pytest.raises(protocol.sdk.RateLimitError):
        await make(max_retries=0)("Summarise.")


async def test_server_errors_come_through_when_the_retries_run_out(
    protocol: Protocol, make: Make, endpoint: Endpoint
) -> None:
    endpoint.prepare(*[BROKEN] * 9)
    with pytest.raises(protocol.sdk.InternalServerError) as caught:
        await make(max_retries=3)("Summarise.")
    assert (caught.value.status_code, len(endpoint.asked)) == (500, 4)


async def test_retries_hold_for_a_client_that_is_given(
    protocol: Protocol, make: Make, endpoint: Endpoint
) -> None:
    endpoint.prepare(BROKEN, protocol.answer(SUMMARY))
    ours = make()._client
    assert (await make(client=ours, base_url=None, api_key=None)("Summarise.")).text == SUMMARY
    endpoint.prepare(BROKEN)
    with pytest.raises(protocol.sdk.InternalServerError):
        await make(client=ours, base_url=None, api_key=None, max_retries=0)("Summarise.")


async def test_a_closed_connection_is_the_sdk_s_error(
    protocol: Protocol, make: Make, endpoint: Endpoint
) -> None:
    endpoint.prepare(Drop())
    with pytest.raises(protocol.sdk.APIConnectionError):
        await make(max_retries=0)("Summarise.")


async def test_a_closed_connection_is_tried_again(
    protocol: Protocol, make: Make, endpoint: Endpoint
) -> None:
    endpoint.prepare(Drop(), protocol.answer(SUMMARY))
    assert (await make(max_retries=1)("Summarise.")).text == SUMMARY


async def test_nobody_listening_is_the_sdk_s_error(protocol: Protocol, make: Make) -> None:
    with pytest.raises(protocol.sdk.APIConnectionError):
        await make(base_url="http://127.0.0.1:9", max_retries=0)("Summarise.")


@pytest.mark.parametrize("status", [401, 404])
async def test_a_wrong_key_or_model_is_the_sdk_s_error(
    protocol: Protocol, make: Make, endpoint: Endpoint, status: int
) -> None:
    endpoint.prepare(Reply({"error": {"message": "no such thing"}}, status))
    with pytest.raises(protocol.sdk.APIStatusError) as caught:
        await make()("Summarise.")
    assert (caught.value.status_code, len(endpoint.asked)) == (status, 1)


async def test_a_context_overflow_is_the_sdk_s_error_and_is_not_tried_again(
    protocol: Protocol, make: Make, endpoint: Endpoint
) -> None:
    endpoint.prepare(Reply(protocol.overflow, 400))
    with pytest.raises(protocol.sdk.BadRequestError) as caught:
        await make()("Summarise.")
    assert protocol.overflow["error"]["message"] in str(caught.value)
    assert len(endpoint.asked) == 1


async def said(make: Make) -> str:
    with pytest.raises(CompactionError) as caught:
        await make()("Summarise.")
    assert "'small'" in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("content", [None, "", " \n ", [], 7, [{"type": "image"}]])
async def test_an_answer_without_text_says_what_came(
    protocol: Protocol, make: Make, endpoint: Endpoint, content: Any
) -> None:
    if protocol.name == "anthropic" and isinstance(content, str):
        content = [{"type": "text", "text": content}]
    endpoint.prepare(protocol.answer(content))
    message = await said(make)
    assert "without text" in message
    assert "'stop'" in message or "'end_turn'" in message


async def test_an_answer_without_a_choice_says_what_came(make: Make, endpoint: Endpoint) -> None:
    empty = {"id": "x", "object": "chat.completion", "choices": [], "content": [], "usage": None}
    endpoint.prepare(Reply(empty))
    assert "'x'" in await said(make)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"nonsense": [1, 2]},
        {"choices": "abc", "content": "abc" * 0},
        {"choices": [7], "content": [7]},
        {"choices": [{"message": "hello"}], "content": {"text": "hello"}},
        {"choices": [{"message": {"content": {"x": 1}}}], "content": None},
        [],
        [1, 2],
        "a string",
        7,
        None,
    ],
    ids=repr,
)
async def test_json_of_another_shape_says_what_came(
    make: Make, endpoint: Endpoint, body: Any
) -> None:
    import json

    endpoint.prepare(Reply(json.dumps(body)))
    assert "without" in await said(make)


@pytest.mark.parametrize("text", ["", "{", "no json", "\x00"])
async def test_what_is_no_json_says_so(make: Make, endpoint: Endpoint, text: str) -> None:
    endpoint.prepare(Reply(text))
    assert "no JSON" in await said(make)


async def test_a_page_of_html_is_quoted_and_cut(make: Make, endpoint: Endpoint) -> None:
    endpoint.prepare(Reply(HTML + "x" * 10_000, media_type="text/html"))
    message = await said(make)
    assert "Welcome to the proxy" in message
    assert len(message) < 500


async def test_a_refusal_is_told(protocol: Protocol, make: Make, endpoint: Endpoint) -> None:
    if protocol.name == "openai":
        endpoint.prepare(protocol.answer(None, refusal="I cannot help with that."))
    else:
        details = {"type": "refusal", "category": None, "explanation": "I cannot help with that."}
        endpoint.prepare(protocol.answer([], stop="refusal", stop_details=details))
    message = await said(make)
    assert "refused" in message
    assert "I cannot help with that." in message


async def test_a_refusal_is_told_also_when_text_came(
    protocol: Protocol, make: Make, endpoint: Endpoint
) -> None:
    if protocol.name == "openai":
        endpoint.prepare(protocol.answer("The order", refusal="No more."))
    else:
        endpoint.prepare(protocol.answer("The order", stop="refusal"))
    assert "refused" in await said(make)


@pytest.mark.parametrize("content", ["The order left the", None])
async def test_a_summary_that_was_cut_off_is_none(
    protocol: Protocol, make: Make, endpoint: Endpoint, content: Any
) -> None:
    openai = {"finish": "length"}
    fields = openai if protocol.name == "openai" else {"stop": "max_tokens"}
    endpoint.prepare(protocol.answer(content, **fields))
    message = await said(make)
    assert "cut off" in message
    assert "max_tokens" in message


async def test_what_a_filter_or_the_context_s_end_cut_off_is_none(
    protocol: Protocol, make: Make, endpoint: Endpoint
) -> None:
    openai: dict[str, Any] = {"finish": "content_filter"}
    anthropic: dict[str, Any] = {"stop": "model_context_window_exceeded"}
    endpoint.prepare(protocol.answer(SUMMARY, **openai if protocol.name == "openai" else anthropic))
    assert "cut off" in await said(make)


async def test_a_failed_call_leaves_the_next_one_alone(
    protocol: Protocol, make: Make, endpoint: Endpoint
) -> None:
    endpoint.prepare(Drop(), Reply("{"), Reply({}, 500), protocol.answer(SUMMARY))
    summarizer = make(max_retries=0)
    for kind in (protocol.sdk.APIConnectionError, CompactionError, protocol.sdk.APIStatusError):
        with pytest.raises(kind):
            await summarizer("Summarise.")
    assert (await summarizer("Summarise.")).text == SUMMARY
