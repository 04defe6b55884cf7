// A server with the TypeScript SDK 2: `server.mjs stdio` or `server.mjs http [MANNER]`. Over HTTP it takes a free port
// of the loopback, and prints first its address, and then a line for each stream that is taken up again and each session
// that is deleted. The manner is `plain`; `json`, which answers every request with JSON and nothing about it;
// `stateless`, which has no sessions; or `resumable`, which keeps what it has sent, can hang up, and can be made to
// forget its sessions.
import { createServer } from 'node:http';
import { randomUUID } from 'node:crypto';
import { NodeStreamableHTTPServerTransport } from '@modelcontextprotocol/node';
import { ProtocolError, Server, isInitializeRequest } from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';

const text = (text) => ({ content: [{ type: 'text', text }] });

/** A server for one session, with these tools beside those that all have. */
function desk(more = {}) {
  const server = new Server(
    { name: 'typescript-desk', version: '1.0.0' },
    { capabilities: { tools: {}, resources: { subscribe: true }, logging: {} } },
  );
  const subscribed = new Set();
  let takenBack;
  const wasTakenBack = new Promise((resolve) => (takenBack = resolve));

  const tools = {
    echo: async ({ message }) => text(message),
    count: async ({ to }, { mcpReq }) => {
      const progressToken = mcpReq._meta?.progressToken;
      for (let progress = 1; progress <= to; progress += 1) {
        const params = { progressToken, progress, total: to };
        if (progressToken !== undefined) await mcpReq.notify({ method: 'notifications/progress', params });
      }
      await mcpReq.notify({ method: 'notifications/message', params: { level: 'info', data: `counted ${to}` } });
      return text(`counted to ${to}`);
    },
    ask_model: async ({ question }, { mcpReq }) => {
      const messages = [{ role: 'user', content: { type: 'text', text: question } }];
      const answer = await mcpReq.send({ method: 'sampling/createMessage', params: { messages, maxTokens: 100 } });
      return text(`${answer.model}: ${answer.content.text}`);
    },
    ask_user: async ({ message }, { mcpReq }) => {
      const requestedSchema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
      const answer = await mcpReq.send({ method: 'elicitation/create', params: { message, requestedSchema } });
      return text(`${answer.action}: ${answer.content?.name}`);
    },
    hold: async (_, { mcpReq }) => {
      const progressToken = mcpReq._meta?.progressToken;
      const released = new Promise((resolve) => mcpReq.signal.addEventListener('abort', resolve));
      await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress: 1 } });
      await released;
      takenBack();
      return text('nobody reads this');
    },
    wait_for_cancel: async () => {
      await wasTakenBack;
      return text('cancelled');
    },
    release_connection: async (_, { http }) => {
      // Only a server that keeps what it has sent can do so.
      http?.closeSSE?.();
      return text('still here');
    },
    touch: async ({ uri }) => {
      if (subscribed.has(uri)) await server.sendResourceUpdated({ uri });
      return text('touched');
    },
    ...more,
  };

  server.setRequestHandler('tools/list', async () => ({
    tools: Object.keys(tools).map((name) => ({ name, inputSchema: { type: 'object' } })),
  }));
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const tool = tools[params.name];
    if (!tool) throw new ProtocolError(-32602, `no tool is called \`${params.name}\``);
    return tool(params.arguments ?? {}, context);
  });
  server.setRequestHandler('resources/list', async () => ({ resources: [{ uri: 'desk://note', name: 'A note' }] }));
  server.setRequestHandler('resources/read', async ({ params: { uri } }) => ({
    contents: [{ uri, text: 'buy milk' }],
  }));
  server.setRequestHandler('resources/subscribe', async ({ params }) => {
    subscribed.add(params.uri);
    return {};
  });
  server.setRequestHandler('resources/unsubscribe', async ({ params }) => {
    subscribed.delete(params.uri);
    return {};
  });
  return server;
}

/** Keeps what was sent, for those who come back for it. */
class Kept {
  #events = [];

  async storeEvent(stream, message) {
    return String(this.#events.push({ stream, message }) - 1);
  }

  async replayEventsAfter(last, { send }) {
    const { stream } = this.#events[Number(last)];
    for (const [id, event] of this.#events.entries()) {
      // What is kept without a method and a result only gives a stream its first id.
      const says = event.message.method ?? event.message.result;
      if (id > Number(last) && event.stream === stream && says) await send(String(id), event.message);
    }
    return stream;
  }
}

/** Serves every session at one address. */
function serve(manner) {
  const sessions = new Map();
  const forgetful = {
    forget: async () => {
      sessions.clear();
      return text('forgotten');
    },
  };
  const settings = {
    plain: {},
    json: { enableJsonResponse: true },
    resumable: { eventStore: new Kept(), retryInterval: 10 },
  }[manner];

  /** What carries the request: the session that it names, one that begins, or nothing. */
  async function carrier(request, body) {
    if (manner === 'stateless') {
      if (request.method !== 'POST') return undefined;
      const transport = new NodeStreamableHTTPServerTransport({ sessionIdGenerator: undefined });
      await desk().connect(transport);
      return transport;
    }
    const known = sessions.get(request.headers['mcp-session-id']);
    if (known || !isInitializeRequest(body)) return known;
    const transport = new NodeStreamableHTTPServerTransport({
      ...settings,
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, transport),
      onsessionclosed: (id) => {
        sessions.delete(id);
        console.log(`deleted, ${sessions.size} left`);
      },
    });
    await desk(manner === 'resumable' ? forgetful : {}).connect(transport);
    return transport;
  }

  const listener = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = chunks.length > 0 ? JSON.parse(Buffer.concat(chunks).toString()) : undefined;
    const transport = await carrier(request, body);
    if (request.headers['last-event-id']) console.log('resumed');
    if (transport) await transport.handleRequest(request, response, body);
    else response.writeHead(manner === 'stateless' ? 405 : 404).end();
  });
  listener.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${listener.address().port}/mcp`));
}

const [over, manner] = process.argv.slice(2);
if (over === 'http') serve(manner ?? 'plain');
else await desk().connect(new StdioServerTransport());
