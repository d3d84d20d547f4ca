"""Which errors say that the input was too long."""

from __future__ import annotations

from typing import Any

import pytest

from sapwood.compaction import is_context_overflow
from sapwood.errors import CompactionError, ContextOverflowError


class APIError(Exception):
    """An error such as the vendors' clients raise."""

    def __init__(self, message: str = "", **fields: Any) -> None:
        super().__init__(message)
        for name, value in fields.items():
            setattr(self, name, value)


class RateLimitError(APIError):
    pass


class ContextWindowExceededError(APIError):
    pass


TOO_LONG = [
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000",
    "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "prompt is too long: 210000 tokens > 200000 maximum",
    "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    "The input token count exceeds the maximum number of tokens allowed 1048576.",
    "the input token count is 40000 but model only supports up to 32768",
    "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
    "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens",
    "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
    "the request exceeds the available context size. try increasing the context size",
    "request (36146 tokens) exceeds the available context size (32768 tokens), try increasing it",
    "input length exceeds maximum context length",
    "the input length exceeds the context length",
    "Requested tokens (4348) exceed context window of 4096",
    "Please reduce the length of the messages or completion.",
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    "Input is too long for requested model.",
    "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000",
    "Input validation error: `inputs` must have less than 4095 tokens. Given: 5000",
    "too many tokens: total number of tokens in the prompt cannot exceed 4081",
    "the number of tokens to keep from the initial prompt is greater than the context length",
    "The input (130000 tokens) is longer than the model's context length (128000 tokens).",
    "prompt token count of 130000 exceeds the limit of 128000",
    "Your request exceeded model token limit: 131072",
    "invalid params, context window exceeds limit",
    "Range of input length should be [1, 30720]",
    "Error code: 400 - {'error': {'code': 'context_length_exceeded'}}",
]

OTHER = [
    "Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Requested 9000",
    "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 50000.",
    "This request would exceed your organization's rate limit of 40,000 input tokens per minute",
    "You exceeded your current quota, please check your plan and billing details.",
    "max_tokens is too large: 100000. This model supports at most 16384 completion tokens",
    "Incorrect API key provided",
    "The server is overloaded",
    "Connection refused",
    "the tool 'context' does not exist",
    "",
]


@pytest.mark.parametrize("message", TOO_LONG)
def test_what_the_servers_say_is_recognised(message: str) -> None:
    assert is_context_overflow(APIError(message))
    assert is_context_overflow(APIError("Bad Request", body={"error": {"message": message}}))


@pytest.mark.parametrize("message", OTHER)
def test_other_errors_are_not_taken_for_it(message: str) -> None:
    assert not is_context_overflow(APIError(message))
    assert not is_context_overflow(APIError("Bad Request", body={"error": {"message": message}}))


@pytest.mark.parametrize(
    "error",
    [
        APIError("Bad Request", code="context_length_exceeded"),
        APIError("Bad Request", body={"error": {"type": "exceed_context_size_error", "code": 400}}),
        APIError("Bad Request", body=[{"error": {"status": "prompt_too_long"}}]),
        APIError("413", type="request_too_large"),
        APIError("Bad Request", body=b'{"error": "prompt is too long"}'),
        APIError("Bad Request", response=APIError("", text="prompt is too long: 3 > 2")),
        ContextWindowExceededError("sorry"),
        ContextOverflowError("sorry"),
    ],
)
def test_codes_classes_and_bodies_are_looked_at(error: Exception) -> None:
    assert is_context_overflow(error)


def test_a_rate_limit_is_never_an_overflow() -> None:
    assert not is_context_overflow(RateLimitError("the input is too long for now"))
    assert not is_context_overflow(APIError("prompt is too long", status_code=429))
    assert not is_context_overflow(APIError("prompt is too long", code=429))


def test_causes_are_looked_at() -> None:
    error = CompactionError("the summary could not be made")
    error.__cause__ = APIError("prompt is too long")
    assert is_context_overflow(error)
    assert is_context_overflow(ExceptionGroup("both", [ValueError("x"), error]))


def test_an_error_that_came_up_while_an_overflow_was_handled_is_not_one() -> None:
    with pytest.raises(APIError) as caught:  # noqa: PT012
        try:
            raise APIError("prompt is too long")
        except APIError:
            raise APIError("Incorrect API key provided")  # noqa: B904
    assert caught.value.__context__ is not None
    assert not is_context_overflow(caught.value)


def test_errors_that_cannot_be_read_do_no_harm() -> None:
    class OddError(Exception):
        def __str__(self) -> str:
            raise ValueError("no")

        @property
        def response(self) -> Any:
            return self

        @property
        def text(self) -> str:
            raise RuntimeError("not read yet")

    assert not is_context_overflow(OddError())
    circle = APIError("a")
    circle.__cause__ = circle
    assert not is_context_overflow(circle)


def test_the_class_is_known_by_its_parents_too() -> None:
    class MineError(ContextWindowExceededError):
        pass

    assert is_context_overflow(MineError("sorry"))
