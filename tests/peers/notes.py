"""The Python SDK's client and the example `notes`: `notes.py MODE stdio COMMAND…` or `notes.py MODE http URL TOKEN`.

The mode is `auto`, in which it asks for `server/discover` first, or `legacy`, in which it begins a session. It uses all of
the server, and prints what it saw as JSON.
"""

import asyncio
import json
import sys

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import (
    CreateMessageResult,
    ElicitResult,
    Implementation,
    PromptReference,
    ResourceUpdatedNotification,
    TextContent,
)

asked = []
progress = []


async def user(_context, params):
    asked.append(params.message)
    return ElicitResult(action="accept", content={"sure": True})


async def model(_context, params):
    text = params.messages[0].content.text.upper()
    return CreateMessageResult(role="assistant", content=TextContent(type="text", text=text), model="none")


async def advance(done, _total, _message):
    progress.append(done)


async def main():
    mode, over, first, *rest = sys.argv[1:]
    if over == "http":
        http = httpx2.AsyncClient(headers={"authorization": f"Bearer {rest[0]}"})
        server = streamable_http_client(first, http_client=http)
    else:
        server = stdio_client(StdioServerParameters(command=first, args=rest))
    updated = asyncio.get_running_loop().create_future()

    async def heard(message):
        if isinstance(message, ResourceUpdatedNotification) and not updated.done():
            updated.set_result(str(message.params.uri))

    settings = {"elicitation_callback": user, "sampling_callback": model, "message_handler": heard, "mode": mode}
    async with Client(server, client_info=Implementation(name="python", version="1.0.0"), **settings) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        added = (await client.call_tool("add_note", {"text": "buy milk", "tag": "shop"})).structured_content
        uri = added["uri"]

        async def rest_of_it():
            imported = await client.call_tool("import_notes", {"text": "one\ntwo"}, progress_callback=advance)
            found = (await client.call_tool("find_notes", {"words": "milk"})).structured_content["notes"]
            listed = [resource.name for resource in (await client.list_resources()).resources]
            read = (await client.read_resource(uri)).contents[0].text
            prompt = (await client.get_prompt("review", {"tag": "shop"})).messages[0].content.text
            review = PromptReference(type="ref/prompt", name="review")
            tags = await client.complete(review, {"name": "tag", "value": "s"})
            summed = await client.call_tool("sum_up", {})
            deleted = await client.call_tool("delete_note", {"id": added["id"]})
            return {
                "imported": imported.content[0].text,
                "progress": progress,
                "found": [note["text"] for note in found],
                "listed": listed,
                "read": read,
                "prompt": prompt,
                "tags": tags.completion.values,
                "summed": summed.content[0].text,
                "deleted": deleted.content[0].text,
            }

        if mode == "legacy":
            await client.subscribe_resource(uri)
            seen = await rest_of_it()
            seen["updated"] = await updated
        else:
            async with client.listen(resource_subscriptions=[uri]) as changes:
                seen = await rest_of_it()
                async for change in changes:
                    seen["updated"] = str(change.uri)
                    break
        gone = await client.call_tool("delete_note", {"id": added["id"]})
        seen["gone"] = [gone.is_error, gone.content[0].text]
        seen.update(revision=client.protocol_version, tools=tools, uri=uri, asked=asked)
    print(json.dumps(seen))


asyncio.run(main())
