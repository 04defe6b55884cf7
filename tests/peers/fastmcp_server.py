"""A server with FastMCP: `fastmcp_server.py stdio` or `fastmcp_server.py http PORT`. It has a tool and a resource."""

import sys

from fastmcp import FastMCP

server = FastMCP("calculator", version="1.0.0")


@server.tool
def add(a: int, b: int) -> int:
    """Adds two numbers"""
    return a + b


@server.resource("notes://first")
def first_note() -> str:
    """The first note"""
    return "buy milk"


if __name__ == "__main__":
    if sys.argv[1] == "http":
        server.run(transport="http", host="127.0.0.1", port=int(sys.argv[2]), show_banner=False)
    else:
        server.run(transport="stdio", show_banner=False)
