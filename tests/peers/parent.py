"""A Python parent: starts the MCP server given on the command line, drives it through one small session over stdio,
closes its stdin and waits for it to go. Python's pipes to a child are real pipes, which is what makes this parent
different from `parent.js`.

    python3 parent.py [--tool NAME] [--arguments JSON] COMMAND [ARGUMENT…]

Without `--tool` the first tool of the list is called. Exit code 0: everything was answered and the server left with
0 by itself. 1: something was not as it should be; what, is on stderr. 2: the command line is wrong.
The one clock is a guard against hanging, set to `PARENT_TIMEOUT_MS` or a minute.
"""

import argparse
import json
import os
import subprocess
import sys
import threading


class Failure(Exception):
    """Something was not as it should be."""


class Server:
    """The server as a child, asked one thing at a time."""

    def __init__(self, command):
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.next_id = 0

    def write(self, message):
        line = json.dumps({"jsonrpc": "2.0", **message}) + "\n"
        self.child.stdin.write(line.encode())
        self.child.stdin.flush()

    def read(self):
        """The next message, or `None` at the end of the stream."""
        line = self.child.stdout.readline()
        if not line:
            return None
        try:
            message = json.loads(line)
        except ValueError:
            raise Failure(f"the server wrote a line that is not JSON: {line!r}") from None
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            raise Failure(f"not JSON-RPC 2.0: {line!r}")
        return message

    def answer(self, message):
        """Answers what the server asks: a ping; the rest this parent has never offered."""
        if "id" not in message:
            return
        if message["method"] == "ping":
            self.write({"id": message["id"], "result": {}})
        else:
            self.write({"id": message["id"], "error": {"code": -32601, "message": "not offered"}})

    def request(self, method, params=None):
        asked = self.next_id
        self.next_id += 1
        self.write({"id": asked, "method": method, **({} if params is None else {"params": params})})
        while True:
            message = self.read()
            if message is None:
                raise Failure(f"the server ended before it answered `{method}`")
            if "method" in message:
                self.answer(message)
            elif message.get("id") != asked:
                raise Failure(f"an answer that nobody waits for: {message}")
            elif "error" in message:
                raise Failure(f"`{method}` was refused: {message['error']}")
            else:
                return message["result"]

    def notify(self, method):
        self.write({"method": method})

    def leave(self):
        """Closes the server's stdin, reads what it still writes and gives its exit code."""
        self.child.stdin.close()
        while (message := self.read()) is not None:
            if "method" not in message:
                raise Failure(f"an answer that nobody waits for: {message}")
        return self.child.wait()


def drive(server, options):
    hello = server.request(
        "initialize",
        {
            "protocolVersion": "2025-03-26",
            "capabilities": {},
            "clientInfo": {"name": "parent.py", "version": "1.0.0"},
        },
    )
    if not isinstance(hello.get("protocolVersion"), str):
        raise Failure("the result of `initialize` names no revision")
    server.notify("notifications/initialized")

    names = [tool["name"] for tool in server.request("tools/list")["tools"]]
    name = options.tool or next(iter(names), None)
    if name not in names:
        raise Failure(f"there is no tool `{name}`")
    result = server.request("tools/call", {"name": name, "arguments": options.arguments})
    if not isinstance(result.get("content"), list):
        raise Failure("the result of `tools/call` has no content")
    print(json.dumps(result))

    code = server.leave()
    if code != 0:
        raise Failure(f"the server left with {code}")


def main():
    parser = argparse.ArgumentParser(description="drives an MCP server through one small session over stdio")
    parser.add_argument("--tool")
    parser.add_argument("--arguments", type=json.loads, default={})
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if not options.command:
        parser.error("no command is given")

    try:
        server = Server(options.command)
    except OSError as error:
        print(f"parent.py: {error}", file=sys.stderr)
        return 1
    limit = int(os.environ.get("PARENT_TIMEOUT_MS", "60000"))

    def give_up():
        # Leaves at once: a child of the child may hold the pipe that the main thread is reading.
        print(f"parent.py: not done after {limit} ms", file=sys.stderr, flush=True)
        server.child.kill()
        os._exit(1)

    guard = threading.Timer(limit / 1000, give_up)
    guard.daemon = True
    guard.start()
    try:
        drive(server, options)
    except (Failure, OSError) as error:
        print(f"parent.py: {error}", file=sys.stderr)
        server.child.kill()
        server.child.wait()
        return 1
    finally:
        guard.cancel()
    return 0


if __name__ == "__main__":
    sys.exit(main())
