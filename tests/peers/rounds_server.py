"""A server of the Python SDK that answers in revision 2026-07-28, too, with the tools of the example `rounds`:
`rounds_server.py stdio`, or `rounds_server.py http`, which takes a free port of the loopback and prints its address.
"""

import asyncio
import socket
import sys
from typing import Annotated

import uvicorn
from mcp.server.mcpserver import Context, Elicit, MCPServer, Resolve
from mcp.types import InputRequiredResult
from pydantic import BaseModel

server = MCPServer("python-rounds", version="1.0.0")


class Visitor(BaseModel):
    name: str


def who() -> Elicit[Visitor]:
    return Elicit("Who is there?", Visitor)


@server.tool(structured_output=False)
async def greet(visitor: Annotated[Visitor, Resolve(who)]) -> str:
    return f"Hello, {visitor.name}!"


@server.tool(structured_output=False)
async def learn(context: Context) -> str:
    server.add_tool(lambda: "I dance.", name="dance", description="Dances")
    await context.notify_tools_changed()
    return "I can dance now."


@server.tool(structured_output=False)
async def count(context: Context) -> str | InputRequiredResult:
    counted = int(context.request_state or 0) + 1
    return "one, two, three" if counted == 3 else InputRequiredResult(request_state=str(counted))


async def serve_http():
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
    config = uvicorn.Config(server.streamable_http_app(), log_level="warning")
    await uvicorn.Server(config).serve([listener])


asyncio.run(serve_http() if sys.argv[1] == "http" else server.run_stdio_async())
