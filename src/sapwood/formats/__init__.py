"""Messages as others write them, to ours and back, without loss."""

from .ai_sdk import from_ai_sdk, to_ai_sdk
from .anthropic import from_anthropic, to_anthropic
from .model_input import input_to_anthropic, input_to_openai_chat, input_to_openai_responses
from .openai_chat import from_openai_chat, to_openai_chat
from .openai_responses import from_openai_responses, to_openai_responses
from .usage import usage_of_completion, usage_of_message, usage_of_response

__all__ = [
    "from_ai_sdk",
    "from_anthropic",
    "from_openai_chat",
    "from_openai_responses",
    "input_to_anthropic",
    "input_to_openai_chat",
    "input_to_openai_responses",
    "to_ai_sdk",
    "to_anthropic",
    "to_openai_chat",
    "to_openai_responses",
    "usage_of_completion",
    "usage_of_message",
    "usage_of_response",
]
