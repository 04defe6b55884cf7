// The client of the TypeScript SDK 2: `client2.mjs MODE http URL` or `client2.mjs MODE stdio COMMAND…`. The mode is
// `auto`, in which it asks for `server/discover` before anything else, or the only revision that it is to speak. Prints
// what it saw of the session as JSON.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Heard, answers, play } from './session.mjs';

const [mode, over, first, ...rest] = process.argv.slice(2);
const transport =
  over === 'http'
    ? new StreamableHTTPClientTransport(new URL(first))
    : new StdioClientTransport({ command: first, args: rest });
const client = new Client(
  { name: 'typescript-2', version: '1.0.0' },
  {
    capabilities: { sampling: {}, elicitation: {} },
    ...(mode === 'auto' ? { versionNegotiation: { mode } } : { supportedProtocolVersions: [mode] }),
  },
);
const heard = new Heard();
client.setRequestHandler('sampling/createMessage', answers.model);
client.setRequestHandler('elicitation/create', answers.user);
client.setNotificationHandler('notifications/message', ({ params }) => heard.log(params));
client.setNotificationHandler('notifications/resources/updated', ({ params }) => heard.update(params));

await client.connect(transport);
const session = transport.sessionId;
const revision = client.getNegotiatedProtocolVersion();
const seen = await play(client, heard, (params, options) => client.callTool(params, options));
await transport.terminateSession?.();
await client.close();
console.log(JSON.stringify({ session, revision, ...seen }));
