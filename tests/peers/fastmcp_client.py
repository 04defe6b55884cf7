"""fastmcp's client: `fastmcp_client.py stdio COMMAND…` or `fastmcp_client.py http URL`.

It calls the tools of the example `eras`, reads its resource, and prints what it saw as JSON.
"""

import asyncio
import json
import sys

from fastmcp import Client

seen = {"asked": [], "progress": [], "log": [], "said": {}}


async def elicit(message, response_type, _params, _context):
    seen["asked"].append(message)
    return response_type(name="Ada")


async def log(message):
    seen["log"].append(message.data)


async def progress(done, _total, _message):
    seen["progress"].append(done)


async def main():
    over, first, *rest = sys.argv[1:]
    server = first if over == "http" else {"mcpServers": {"desk": {"command": first, "args": rest}}}
    handlers = {"elicitation_handler": elicit, "log_handler": log, "progress_handler": progress}
    async with Client(server, **handlers) as client:
        for tool in ["greet", "count", "climb"]:
            seen["said"][tool] = (await client.call_tool(tool, {})).content[0].text
        seen["resources"] = [str(resource.uri) for resource in await client.list_resources()]
        seen["note"] = (await client.read_resource("desk://note"))[0].text
        try:
            await client.call_tool("fly", {})
        except Exception as error:
            seen["refused"] = type(error).__name__
    print(json.dumps(seen))


asyncio.run(main())
