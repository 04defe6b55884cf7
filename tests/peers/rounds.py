"""The Python SDK's client in revision 2026-07-28: `rounds.py MODE stdio COMMAND…` or `rounds.py MODE http URL`.

The mode is `auto`, in which it asks for `server/discover` first, or `legacy`, in which it begins a session. It calls the
tools of the examples `rounds` and `eras`, hears of a new tool, in a subscription unless it has a session, and prints what it
saw as JSON.
"""

import asyncio
import json
import sys

from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitResult, Implementation, ToolListChangedNotification

asked = []


async def user(_context, params):
    asked.append(params.message)
    return ElicitResult(action="accept", content={"name": "Ada"})


async def main():
    mode, over, first, *rest = sys.argv[1:]
    if over == "http":
        server = streamable_http_client(first)
    else:
        server = stdio_client(StdioServerParameters(command=first, args=rest))
    name = Implementation(name="python", version="1.0.0")
    changed = asyncio.Event()

    async def heard(message):
        if isinstance(message, ToolListChangedNotification):
            changed.set()

    settings = {"client_info": name, "elicitation_callback": user, "message_handler": heard, "mode": mode}
    async with Client(server, **settings) as client:
        said = {}

        async def call_tools():
            for tool in ["greet", "learn", "count"]:
                result = await client.call_tool(tool, {})
                said[tool] = result.content[0].text

        if mode == "legacy":
            await call_tools()
            await changed.wait()
        else:
            async with client.listen(tools_list_changed=True) as changes:
                await call_tools()
                async for _change in changes:
                    break
        tools = [tool.name for tool in (await client.list_tools()).tools]
        try:
            refused = await client.call_tool("fly", {})
        except MCPError as error:
            refused = error.error.code
        seen = {"revision": client.protocol_version, "asked": asked, "said": said, "tools": tools, "refused": refused}
    print(json.dumps(seen))


asyncio.run(main())
