// A Node parent: starts the MCP server given on the command line, drives it through one small session over stdio,
// closes its stdin and waits for it to go. Node's pipes to a child are Unix sockets, which is what makes this
// parent different from `parent.py`.
//
//   node parent.js [--tool NAME] [--arguments JSON] COMMAND [ARGUMENT…]
//
// Without `--tool` the first tool of the list is called. Exit code 0: everything was answered and the server left
// with 0 by itself. 1: something was not as it should be; what, is on stderr. 2: the command line is wrong.
// The one clock is a guard against hanging, set to `PARENT_TIMEOUT_MS` or a minute.

"use strict";

const { spawn } = require("node:child_process");
const readline = require("node:readline");

const usage = "usage: node parent.js [--tool NAME] [--arguments JSON] COMMAND [ARGUMENT…]";

/** Splits the command line into the options of this script and the command to start. */
function readCommandLine(words) {
  const options = { tool: undefined, arguments: {} };
  while (words.length > 0 && words[0].startsWith("--")) {
    const option = words.shift();
    const value = words.shift();
    if (value === undefined) throw new Error(`\`${option}\` needs a value`);
    if (option === "--tool") options.tool = value;
    else if (option === "--arguments") options.arguments = JSON.parse(value);
    else throw new Error(`unknown option \`${option}\``);
  }
  if (words.length === 0) throw new Error("no command is given");
  return { options, command: words[0], rest: words.slice(1) };
}

/** The server as a child: requests with promises for their results, and its end. */
class Server {
  constructor(command, rest) {
    this.child = spawn(command, rest, { stdio: ["pipe", "pipe", "inherit"] });
    this.nextId = 0;
    this.waiting = new Map();
    this.ended = new Promise((resolve, reject) => {
      this.child.on("error", (error) => {
        this.failAll(error);
        reject(error);
      });
      this.child.on("close", (code, signal) => {
        this.failAll(new Error(`the server ended (${signal ?? code}) before it answered`));
        resolve({ code, signal });
      });
    });
    // Whoever waits for an answer hears of a failed start, too; this only keeps Node from calling it unhandled.
    this.ended.catch(() => {});
    // A server that ends early breaks the pipe; its end is reported, and that says more.
    this.child.stdin.on("error", () => {});
    readline.createInterface({ input: this.child.stdout }).on("line", (line) => this.receive(line));
  }

  failAll(error) {
    for (const { reject } of this.waiting.values()) reject(error);
    this.waiting.clear();
  }

  write(message) {
    this.child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }

  receive(line) {
    let message;
    try {
      message = JSON.parse(line);
    } catch {
      fail(new Error(`the server wrote a line that is not JSON: ${line}`));
    }
    if (message.jsonrpc !== "2.0") fail(new Error(`not JSON-RPC 2.0: ${line}`));
    if (message.method !== undefined) {
      // The server's own requests: a ping is answered, the rest this parent has never offered.
      if (message.id === undefined) return;
      if (message.method === "ping") this.write({ id: message.id, result: {} });
      else this.write({ id: message.id, error: { code: -32601, message: "not offered" } });
      return;
    }
    const waiting = this.waiting.get(message.id);
    if (waiting === undefined) fail(new Error(`an answer that nobody waits for: ${line}`));
    this.waiting.delete(message.id);
    if (message.error === undefined) waiting.resolve(message.result);
    else waiting.reject(new Error(`\`${waiting.method}\` was refused: ${JSON.stringify(message.error)}`));
  }

  request(method, params) {
    const id = this.nextId++;
    const answer = new Promise((resolve, reject) => this.waiting.set(id, { method, resolve, reject }));
    this.write({ id, method, ...(params === undefined ? {} : { params }) });
    return answer;
  }

  notify(method) {
    this.write({ method });
  }
}

let server;

function fail(error) {
  console.error(`parent.js: ${error.message}`);
  server?.child.kill("SIGKILL");
  process.exit(1);
}

async function main() {
  let line;
  try {
    line = readCommandLine(process.argv.slice(2));
  } catch (error) {
    console.error(`parent.js: ${error.message}\n${usage}`);
    process.exit(2);
  }
  const limit = Number(process.env.PARENT_TIMEOUT_MS ?? 60_000);
  const guard = setTimeout(() => fail(new Error(`not done after ${limit} ms`)), limit);

  server = new Server(line.command, line.rest);
  const hello = await server.request("initialize", {
    protocolVersion: "2025-03-26",
    capabilities: {},
    clientInfo: { name: "parent.js", version: "1.0.0" },
  });
  if (typeof hello.protocolVersion !== "string") throw new Error("the result of `initialize` names no revision");
  server.notify("notifications/initialized");

  const { tools } = await server.request("tools/list");
  const name = line.options.tool ?? tools[0]?.name;
  if (!tools.some((tool) => tool.name === name)) throw new Error(`there is no tool \`${name}\``);
  const result = await server.request("tools/call", { name, arguments: line.options.arguments });
  if (!Array.isArray(result.content)) throw new Error("the result of `tools/call` has no content");
  console.log(JSON.stringify(result));

  server.child.stdin.end();
  const { code, signal } = await server.ended;
  clearTimeout(guard);
  if (code !== 0) throw new Error(`the server left with ${signal ?? code}`);
}

main().catch(fail);
