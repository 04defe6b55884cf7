// The client of the TypeScript SDK 1: `client.mjs http URL` or `client.mjs stdio COMMAND…`. Prints what it saw of the
// session as JSON.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { Heard, answers, play } from './session.mjs';

const [over, first, ...rest] = process.argv.slice(2);
const transport =
  over === 'http'
    ? new StreamableHTTPClientTransport(new URL(first))
    : new StdioClientTransport({ command: first, args: rest });
const client = new Client(
  { name: 'typescript-1', version: '1.0.0' },
  { capabilities: { sampling: {}, elicitation: {} } },
);
const heard = new Heard();
client.setRequestHandler(CreateMessageRequestSchema, answers.model);
client.setRequestHandler(ElicitRequestSchema, answers.user);
client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => heard.log(params));
client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => heard.update(params));

// The SDK keeps the revision that was agreed on to itself, but tells the transport.
let revision;
const tell = transport.setProtocolVersion?.bind(transport);
transport.setProtocolVersion = (agreed) => {
  revision = agreed;
  tell?.(agreed);
};
await client.connect(transport);
const session = transport.sessionId;
const seen = await play(client, heard, (params, options) => client.callTool(params, undefined, options));
await transport.terminateSession?.();
await client.close();
console.log(JSON.stringify({ session, revision, ...seen }));
