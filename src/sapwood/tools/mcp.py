"""Tools of servers of the Model Context Protocol, through the package `mcp`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

from ..errors import UsageError
from ..event_loop import AsyncEntering, Entering
from ..formats.vendor_limits import fit_name
from ..model import ToolDefinition
from ..summarizers.sdk import load_sdk
from .functions import NeedsApproval, Tool


class AsyncMcpTools(AsyncEntering):
    """The tools of a server, for the time that it is entered.

    `server` and `options` are what `mcp.Client` takes: a URL, the parameters of a program to be
    started, a transport, or a server in this process.
    """

    def __init__(
        self, server: Any, *, needs_approval: NeedsApproval = False, **options: Any
    ) -> None:
        self._client = load_sdk("mcp").Client(server, **options)
        self._needs_approval = needs_approval

    async def __aenter__(self) -> list[Tool]:
        """Connect, and return the tools."""
        client = await self._client.__aenter__()
        listed = await _listed(client)
        return [_tool(it, partial(_call, client, it.name), self._needs_approval) for it in listed]

    async def __aexit__(self, *details: Any) -> None:
        """Disconnect."""
        await self._client.__aexit__(*details)


class McpTools(Entering):
    """The same for programs without an event loop: it has one in a thread of its own."""

    def __init__(
        self, server: Any, *, needs_approval: NeedsApproval = False, **options: Any
    ) -> None:
        self._client = load_sdk("mcp").Client(server, **options)
        self._needs_approval = needs_approval
        self._entered = ExitStack()

    def __enter__(self) -> list[Tool]:
        """Connect, and return the tools."""
        from anyio.from_thread import start_blocking_portal

        with ExitStack() as stack:
            portal = stack.enter_context(start_blocking_portal())
            managed = portal.wrap_async_context_manager(self._client)
            client = stack.enter_context(managed)
            listed = portal.call(_listed, client)
            self._entered = stack.pop_all()

        def call(name: str, /, **arguments: Any) -> Any:
            return portal.call(partial(_call, client, name, **arguments))

        return [_tool(it, partial(call, it.name), self._needs_approval) for it in listed]

    def __exit__(self, *details: Any) -> None:
        """Disconnect."""
        self._entered.close()


async def _listed(client: Any) -> list[Any]:
    page = await client.list_tools()
    listed = list(page.tools)
    while page.next_cursor:
        page = await client.list_tools(cursor=page.next_cursor)
        listed += page.tools
    return listed


def _tool(listed: Any, function: Callable[..., Any], needs_approval: NeedsApproval) -> Tool:
    definition = ToolDefinition(
        name=fit_name(listed.name),
        description=listed.description or "",
        schema=listed.input_schema,
    )
    return Tool(definition=definition, function=function, needs_approval=needs_approval)


async def _call(client: Any, name: str, /, **arguments: Any) -> Any:
    result = await client.call_tool(name, arguments)
    texts = [block.text for block in result.content if block.type == "text"]
    if result.is_error:
        raise UsageError("\n".join(texts) or f"The tool {name!r} failed.")
    if len(texts) == len(result.content):
        return "\n".join(texts)
    return [block.model_dump(mode="json", exclude_none=True) for block in result.content]
