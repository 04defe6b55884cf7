// The client of the TypeScript SDK 2 in revision 2026-07-28: `rounds.mjs MODE stdio COMMAND…` or `rounds.mjs MODE http URL`. The
// mode is `auto`, in which it asks for `server/discover` first, `legacy`, in which it begins a session, or the revision that
// it is pinned to. It calls the tools of the examples `rounds` and `eras`, hears of a new tool, in a subscription unless it
// has a session, and prints what it saw as JSON.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const [mode, over, first, ...rest] = process.argv.slice(2);
const transport =
  over === 'http'
    ? new StreamableHTTPClientTransport(new URL(first))
    : new StdioClientTransport({ command: first, args: rest, stderr: 'inherit' });
const asked = [];
const client = new Client(
  { name: 'typescript-2', version: '1.0.0' },
  {
    capabilities: { elicitation: {} },
    versionNegotiation: { mode: ['auto', 'legacy'].includes(mode) ? mode : { pin: mode } },
  },
);
client.setRequestHandler('elicitation/create', ({ params }) => {
  asked.push(params.message);
  return { action: 'accept', content: { name: 'Ada' } };
});
const changed = new Promise((told) =>
  client.setNotificationHandler('notifications/tools/list_changed', () => told()),
);
await client.connect(transport);
const subscription = mode === 'legacy' ? undefined : await client.listen({ toolsListChanged: true });
const said = {};
for (const name of ['greet', 'learn', 'count']) {
  said[name] = (await client.callTool({ name, arguments: {} })).content[0].text;
}
await changed;
const tools = (await client.listTools(undefined, { cacheMode: 'refresh' })).tools.map((tool) => tool.name);
await subscription?.close();
const refused = await client.callTool({ name: 'fly', arguments: {} }).catch((error) => error.code);
const revision = client.getNegotiatedProtocolVersion();
await client.close();
console.log(JSON.stringify({ revision, asked, said, tools, refused }));
