"""The Python SDK's client: `client.py [legacy] http URL` or `client.py [legacy] stdio COMMAND…`.

It plays a session with any server that has the tools of `server.py`, and prints what it saw of it as JSON. Before
anything else the SDK asks for `server/discover`, unless it is `legacy`.
"""

import asyncio
import json
import sys
import warnings

from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp.types import CreateMessageResult, ElicitResult, Implementation, ResourceUpdatedNotification, TextContent

# The SDK warns of what the revision without a handshake does not have any more. This is about those that have it.
warnings.simplefilter("ignore", MCPDeprecationWarning)


class Heard:
    """What the client has been told, and a condition for who waits for more."""

    def __init__(self):
        self.logs, self.updated = [], []
        self.changed = asyncio.Condition()

    async def note(self, entries, entry):
        async with self.changed:
            entries.append(entry)
            self.changed.notify_all()

    async def until_not_empty(self, entries):
        async with self.changed:
            await self.changed.wait_for(lambda: entries)

    async def log(self, params):
        await self.note(self.logs, params.data)

    async def message(self, message):
        if isinstance(message, ResourceUpdatedNotification):
            await self.note(self.updated, str(message.params.uri))


async def model(_context, _params):
    return CreateMessageResult(role="assistant", model="calculator", content=TextContent(type="text", text="four"))


async def user(_context, _params):
    return ElicitResult(action="accept", content={"name": "Ada"})


async def play(client, heard):
    async def call(name, **arguments):
        result = await client.call_tool(name, arguments)
        return result.content[0].text

    seen = {"revision": client.protocol_version, "server": client.server_info.name}
    seen["tools"] = [tool.name for tool in (await client.list_tools()).tools]
    seen["echo"] = list(await asyncio.gather(call("echo", message="grüße"), call("echo", message="twice")))

    await client.set_logging_level("debug")
    seen["progress"] = []

    async def progressed(progress, total, _message):
        seen["progress"].append([progress, total])

    result = await client.call_tool("count", {"to": 3}, progress_callback=progressed)
    seen["counted"] = result.content[0].text
    await heard.until_not_empty(heard.logs)

    seen["model"] = await call("ask_model", question="two and two")
    seen["user"] = await call("ask_user", message="who are you")

    # What is cancelled as soon as it has begun.
    begun = asyncio.Event()

    async def began(_progress, _total, _message):
        begun.set()

    held = asyncio.create_task(client.call_tool("hold", {}, progress_callback=began))
    await begun.wait()
    held.cancel()
    try:
        await held
        seen["held"] = "answered"
    except asyncio.CancelledError:
        seen["held"] = "cancelled"
    seen["wait_for_cancel"] = await call("wait_for_cancel")
    seen["hung_up"] = await call("release_connection")

    uri = "desk://note"
    seen["note"] = (await client.read_resource(uri)).contents[0].text
    await client.subscribe_resource(uri)
    await call("touch", uri=uri)
    await heard.until_not_empty(heard.updated)
    await client.unsubscribe_resource(uri)

    try:
        seen["refused"] = {"text": await call("nothing")}
    except MCPError as error:
        seen["refused"] = {"code": error.error.code}
    return seen | {"logs": heard.logs, "updated": heard.updated}


async def main():
    mode = "legacy" if sys.argv[1] == "legacy" else "auto"
    over, first, *rest = [word for word in sys.argv[1:] if word != "legacy"]
    heard = Heard()
    if over == "http":
        transport = streamable_http_client(first)
    else:
        transport = stdio_client(StdioServerParameters(command=first, args=rest))
    client = Client(
        transport,
        mode=mode,
        client_info=Implementation(name="python", version="1.0.0"),
        sampling_callback=model,
        elicitation_callback=user,
        logging_callback=heard.log,
        message_handler=heard.message,
    )
    async with client:
        seen = await play(client, heard)
    print(json.dumps(seen))


asyncio.run(main())
