"""An agent: a model that answers in sessions, with tools, and goes on where it was."""

from __future__ import annotations

from ..rules.known_models import KnownModel, ModelTable
from ..tools.functions import Tool, tool
from ..tools.mcp import AsyncMcpTools, McpTools
from ..vendors._async.models import AsyncAnthropicMessages, AsyncOpenAIChat, AsyncOpenAIResponses
from ..vendors._sync.models import AnthropicMessages, OpenAIChat, OpenAIResponses
from ..vendors.offline import OfflineModel
from ._async.agent import AsyncAgent, AsyncAgentStream
from ._async.run import AsyncAgentRun
from ._sync.agent import Agent, AgentStream
from ._sync.run import AgentRun
from .answer import AgentAnswer

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
