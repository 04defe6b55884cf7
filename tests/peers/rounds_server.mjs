// A server of the TypeScript SDK 2 in revision 2026-07-28, with the tools of the example `rounds`: `rounds_server.mjs stdio`, or
// `rounds_server.mjs http`, which takes a free port of the loopback and prints its address.
import { createServer } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { Server, acceptedContent, createMcpHandler, inputRequired } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import * as z from 'zod/v4';

const text = (text) => ({ content: [{ type: 'text', text }] });
const names = ['greet', 'learn', 'count'];

/** A server for a connection or a request; `changed` says that there is a new tool. */
function desk(changed) {
  const server = new Server(
    { name: 'typescript-rounds', version: '1.0.0' },
    { capabilities: { tools: { listChanged: true } } },
  );
  const tools = {
    greet: ({ inputResponses }) => {
      const answer = acceptedContent(inputResponses, 'who', z.object({ name: z.string() }));
      if (answer) return text(`Hello, ${answer.name}!`);
      const requestedSchema = { type: 'object', properties: { name: { type: 'string' } } };
      const who = inputRequired.elicit({ message: 'Who is there?', requestedSchema });
      return inputRequired({ inputRequests: { who } });
    },
    learn: async () => {
      names.push('dance');
      await changed(server);
      return text('I can dance now.');
    },
    count: ({ requestState }) => {
      const count = Number(requestState?.() ?? 0) + 1;
      return count === 3 ? text('one, two, three') : inputRequired({ requestState: String(count) });
    },
  };
  server.setRequestHandler('tools/list', () => ({
    tools: names.map((name) => ({ name, inputSchema: { type: 'object' } })),
  }));
  server.setRequestHandler('tools/call', ({ params }, { mcpReq }) => tools[params.name](mcpReq));
  return server;
}

if (process.argv[2] === 'http') {
  const handler = createMcpHandler(() => desk(() => handler.notify.toolsChanged()));
  const server = createServer(toNodeHandler(handler));
  server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/mcp`));
} else {
  serveStdio(() => desk((server) => server.sendToolListChanged()));
}
