"""A server with the Python SDK: `server.py http` or `server.py stdio`.

Over HTTP it takes a free port of the loopback, and prints first its address, and then a line for each session that its
client has deleted.
"""

import asyncio
import socket
import sys
import warnings

import uvicorn
from mcp import MCPError, types
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPDeprecationWarning

# The SDK warns of what the revision without a handshake does not have any more. This is about those that have it.
warnings.simplefilter("ignore", MCPDeprecationWarning)


def text(text):
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)])


class Seat:
    """What is kept for one session."""

    def __init__(self):
        self.subscribed = set()
        self.was_taken_back = asyncio.Event()


class Desk:
    """The tools of all sessions."""

    def __init__(self):
        self.seats = {}

    def seat(self, context):
        session = context.request.headers.get("mcp-session-id") if context.request else None
        return self.seats.setdefault(session, Seat())

    async def echo(self, _context, message):
        return text(message)

    async def count(self, context, to):
        for progress in range(1, to + 1):
            await context.session.report_progress(progress, to)
        await context.session.send_log_message("info", f"counted {to}", related_request_id=context.request_id)
        return text(f"counted to {to}")

    async def ask_model(self, context, question):
        message = types.SamplingMessage(role="user", content=types.TextContent(type="text", text=question))
        answer = await context.session.create_message(
            [message], max_tokens=100, related_request_id=context.request_id
        )
        return text(f"{answer.model}: {answer.content.text}")

    async def ask_user(self, context, message):
        schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
        answer = await context.session.elicit_form(message, schema, context.request_id)
        return text(f"{answer.action}: {(answer.content or {}).get('name')}")

    async def hold(self, context):
        try:
            await context.session.report_progress(1)
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.seat(context).was_taken_back.set()
            raise

    async def taken_back(self, context):
        await self.seat(context).was_taken_back.wait()
        return text("taken back")

    async def touch(self, context, uri):
        if uri in self.seat(context).subscribed:
            await context.session.send_resource_updated(uri)
        return text("touched")


def server():
    desk = Desk()
    tools = {
        "echo": desk.echo,
        "count": desk.count,
        "ask_model": desk.ask_model,
        "ask_user": desk.ask_user,
        "hold": desk.hold,
        "taken_back": desk.taken_back,
        "touch": desk.touch,
    }

    async def list_tools(_context, _params):
        return types.ListToolsResult(
            tools=[types.Tool(name=name, input_schema={"type": "object"}) for name in tools]
        )

    async def call_tool(context, params):
        tool = tools.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"no tool is called `{params.name}`")
        return await tool(context, **(params.arguments or {}))

    async def list_resources(_context, _params):
        return types.ListResourcesResult(resources=[types.Resource(uri="desk://note", name="A note")])

    async def read_resource(_context, params):
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=params.uri, text="buy milk")]
        )

    async def subscribe(context, params):
        desk.seat(context).subscribed.add(params.uri)
        return types.EmptyResult()

    async def unsubscribe(context, params):
        desk.seat(context).subscribed.discard(params.uri)
        return types.EmptyResult()

    async def set_level(_context, _params):
        return types.EmptyResult()

    return Server(
        "python-desk",
        version="1.0.0",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_read_resource=read_resource,
        on_subscribe_resource=subscribe,
        on_unsubscribe_resource=unsubscribe,
        on_set_logging_level=set_level,
    )


def watched(app, server):
    """Says so when a session has been deleted."""

    async def watching(scope, receive, send):
        await app(scope, receive, send)
        if scope.get("method") == "DELETE":
            left = len(server.session_manager._server_instances)
            print(f"deleted, {left} left", flush=True)

    return watching


async def over_http():
    listener = socket.create_server(("127.0.0.1", 0))
    desk = server()
    app = watched(desk.streamable_http_app(), desk)
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
    await uvicorn.Server(uvicorn.Config(app, log_level="warning")).serve([listener])


async def over_stdio():
    desk = server()
    async with stdio_server() as (reading, writing):
        await desk.run(reading, writing, desk.create_initialization_options())


asyncio.run(over_http() if sys.argv[1] == "http" else over_stdio())
