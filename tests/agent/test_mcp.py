"""Tools of a server of the Model Context Protocol, with the real package."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import sapwood
from sapwood import ToolCallPart
from sapwood.agent import Agent, AsyncAgent, AsyncMcpTools, McpTools

mcp = pytest.importorskip("mcp")

SERVER = """
from mcp.server.mcpserver import MCPServer

server = MCPServer("shop")


@server.tool(name="order.status")
def order_status(name: str) -> str:
    \"\"\"Tell where an order is.\"\"\"
    if name == "none":
        raise ValueError("no such order")
    return f"{name} left the warehouse"


server.run()
"""


@pytest.fixture
def server(tmp_path: Path) -> Any:
    (tmp_path / "server.py").write_text(SERVER)
    return mcp.StdioServerParameters(command=sys.executable, args=[str(tmp_path / "server.py")])


class Clerk:
    """Asks for two orders, one of which there is not, and says what it heard."""

    def __call__(self, given: Any) -> Any:
        last = given.messages[-1]
        if last.role == "tool":
            return " / ".join(f"{part.output} {part.is_error}" for part in last.parts)
        [name] = [tool.name for tool in given.tools if tool.name.startswith("order_status")]
        return [
            ToolCallPart(call_id=order, name=name, input={"name": order})
            for order in ("17", "none")
        ]


def check(text: str) -> None:
    there, _, missing = text.partition(" / ")
    assert there == "17 left the warehouse False"
    assert "order.status" in missing
    assert missing.endswith("True")


def test_tools_of_a_server(server: Any) -> None:
    with sapwood.open("memory://") as sessions, McpTools(server) as tools:
        check(Agent(Clerk(), tools=tools, sessions=sessions).run("Where?").text)


async def test_tools_of_a_server_on_a_loop(server: Any) -> None:
    async with sapwood.open_async("memory://") as sessions, AsyncMcpTools(server) as tools:
        check((await AsyncAgent(Clerk(), tools=tools, sessions=sessions).run("Where?")).text)
