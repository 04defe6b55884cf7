"""fastmcp's client and the example `notes`: `notes_fastmcp.py stdio COMMAND…` or `notes_fastmcp.py http URL TOKEN`.

It uses all of the server, and prints what it saw as JSON. The client has no method for subscriptions; the session of the
Python SDK below it has.
"""

import asyncio
import json
import sys

from fastmcp import Client
from mcp.client.subscriptions import listen
from mcp.types import PromptReference

asked = []
progress = []


async def user(message, response_type, _params, _context):
    asked.append(message)
    return response_type(sure=True)


async def model(messages, _params, _context):
    return messages[0].content.text.upper()


async def advance(done, _total, _message):
    progress.append(done)


async def main():
    over, first, *rest = sys.argv[1:]
    if over == "http":
        server, settings = first, {"auth": rest[0]}
    else:
        server, settings = {"mcpServers": {"notes": {"command": first, "args": rest}}}, {}
    settings |= {"elicitation_handler": user, "sampling_handler": model, "progress_handler": advance}
    async with Client(server, **settings) as client:
        tools = [tool.name for tool in await client.list_tools()]
        added = (await client.call_tool("add_note", {"text": "buy milk", "tag": "shop"})).structured_content
        async with listen(client.session, resource_subscriptions=[added["uri"]]) as changes:
            imported = await client.call_tool("import_notes", {"text": "one\ntwo"})
            found = (await client.call_tool("find_notes", {"words": "milk"})).structured_content["notes"]
            listed = [resource.name for resource in await client.list_resources()]
            read = (await client.read_resource(added["uri"]))[0].text
            prompt = (await client.get_prompt("review", {"tag": "shop"})).messages[0].content.text
            review = PromptReference(type="ref/prompt", name="review")
            tags = (await client.complete(review, {"name": "tag", "value": "s"})).values
            summed = await client.call_tool("sum_up", {})
            deleted = await client.call_tool("delete_note", {"id": added["id"]})
            async for change in changes:
                updated = str(change.uri)
                break
        gone = await client.call_tool("delete_note", {"id": added["id"]}, raise_on_error=False)
        seen = {
            "revision": client.protocol_version,
            "tools": tools,
            "uri": added["uri"],
            "imported": imported.content[0].text,
            "progress": progress,
            "found": [note["text"] for note in found],
            "listed": listed,
            "read": read,
            "prompt": prompt,
            "tags": tags,
            "summed": summed.content[0].text,
            "asked": asked,
            "deleted": deleted.content[0].text,
            "updated": updated,
            "gone": [gone.is_error, gone.content[0].text],
        }
    print(json.dumps(seen))


asyncio.run(main())
