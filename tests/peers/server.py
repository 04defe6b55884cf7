"""A server with the Python SDK: `server.py stdio` or `server.py http [MANNER]`.

Over HTTP it takes a free port of the loopback, and prints first its address, and then a line for each stream that is
taken up again and each session that is deleted. The manner is `plain`; `json`, which answers every request with JSON
and nothing about it; `stateless`, which has no sessions; or `resumable`, which keeps what it has sent, can hang up, and
can be made to forget its sessions.
"""

import asyncio
import socket
import sys
import warnings

import uvicorn
from mcp import MCPError, types
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http import EventMessage, EventStore
from mcp.shared.exceptions import MCPDeprecationWarning

# The SDK warns of what the revision without a handshake does not have any more. This is about those that have it.
warnings.simplefilter("ignore", MCPDeprecationWarning)


def text(text):
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)])


class Seat:
    """What is kept for one session."""

    def __init__(self):
        self.subscribed = set()
        self.was_cancelled = asyncio.Event()


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
            self.seat(context).was_cancelled.set()
            raise

    async def wait_for_cancel(self, context):
        await self.seat(context).was_cancelled.wait()
        return text("cancelled")

    async def release_connection(self, context):
        # Only a server that keeps what it has sent can do so.
        if context.close_sse_stream:
            await context.close_sse_stream()
        return text("still here")

    async def touch(self, context, uri):
        if uri in self.seat(context).subscribed:
            await context.session.send_resource_updated(uri)
        return text("touched")


class Kept(EventStore):
    """Keeps what was sent, for those who come back for it."""

    def __init__(self):
        self.events = []

    async def store_event(self, stream_id, message):
        self.events.append((stream_id, message))
        return str(len(self.events) - 1)

    async def replay_events_after(self, last_event_id, send_callback):
        stream, _ = self.events[int(last_event_id)]
        for event in range(int(last_event_id) + 1, len(self.events)):
            of, message = self.events[event]
            if of == stream and message is not None:
                await send_callback(EventMessage(message, str(event)))
        return stream


def server(resumable=False):
    desk = Desk()
    tools = {
        "echo": desk.echo,
        "count": desk.count,
        "ask_model": desk.ask_model,
        "ask_user": desk.ask_user,
        "hold": desk.hold,
        "wait_for_cancel": desk.wait_for_cancel,
        "release_connection": desk.release_connection,
        "touch": desk.touch,
    }

    async def forget(_context):
        built.session_manager._server_instances.clear()
        return text("forgotten")

    if resumable:
        tools["forget"] = forget

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

    built = Server(
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
    return built


def watched(app, server):
    """Says so when a stream is taken up again, and when a session has been deleted."""

    async def watching(scope, receive, send):
        if any(name == b"last-event-id" for name, _ in scope.get("headers", [])):
            print("resumed", flush=True)
        await app(scope, receive, send)
        if scope.get("method") == "DELETE":
            left = len(server.session_manager._server_instances)
            print(f"deleted, {left} left", flush=True)

    return watching


async def over_http(manner):
    listener = socket.create_server(("127.0.0.1", 0))
    desk = server(manner == "resumable")
    settings = {
        "plain": {},
        "json": {"json_response": True},
        "stateless": {"stateless_http": True},
        "resumable": {"event_store": Kept(), "retry_interval": 10},
    }[manner]
    app = watched(desk.streamable_http_app(**settings), desk)
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
    await uvicorn.Server(uvicorn.Config(app, log_level="warning")).serve([listener])


async def over_stdio():
    desk = server()
    async with stdio_server() as (reading, writing):
        await desk.run(reading, writing, desk.create_initialization_options())


over, *manner = sys.argv[1:]
asyncio.run(over_http(*manner or ["plain"]) if over == "http" else over_stdio())
