"""An agent: a model that answers in sessions, with tools, and goes on where it was."""

from __future__ import annotations

from ..rules.known_models import KnownModel, ModelTable
from ._async.agent import AsyncAgent, AsyncAgentStream
from ._async.models import AsyncAnthropicMessages, AsyncOpenAIChat, AsyncOpenAIResponses
from ._async.run import AsyncAgentRun
from ._sync.agent import Agent, AgentStream
from ._sync.models import AnthropicMessages, OpenAIChat, OpenAIResponses
from ._sync.run import AgentRun
from .answer import AgentAnswer
from .mcp import AsyncMcpTools, McpTools
from .offline import OfflineModel
from .tools import Tool, tool

__all__ = [
    "Agent",
    "AgentAnswer",
    "AgentRun",
    "AgentStream",
    "AnthropicMessages",
    "AsyncAgent",
    "AsyncAgentRun",
    "AsyncAgentStream",
    "AsyncAnthropicMessages",
    "AsyncMcpTools",
    "AsyncOpenAIChat",
    "AsyncOpenAIResponses",
    "KnownModel",
    "McpTools",
    "ModelTable",
    "OfflineModel",
    "OpenAIChat",
    "OpenAIResponses",
    "Tool",
    "tool",
]
