// The client of the TypeScript SDK 2 and the example `notes`: `notes.mjs MODE stdio COMMAND…` or `notes.mjs MODE http URL
// TOKEN`. The mode is `auto`, in which it asks for `server/discover` first, or `legacy`, in which it begins a session. It
// uses all of the server, and prints what it saw as JSON, but for progress: this SDK drops a report that it reads together
// with the reply.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const [mode, over, first, ...rest] = process.argv.slice(2);
const requestInit = { headers: { authorization: `Bearer ${rest[0]}` } };
const transport =
  over === 'http'
    ? new StreamableHTTPClientTransport(new URL(first), { requestInit })
    : new StdioClientTransport({ command: first, args: rest, stderr: 'inherit' });
const client = new Client(
  { name: 'typescript-2', version: '1.0.0' },
  { capabilities: { elicitation: {}, sampling: {} }, versionNegotiation: { mode } },
);
const asked = [];
client.setRequestHandler('elicitation/create', ({ params }) => {
  asked.push(params.message);
  return { action: 'accept', content: { sure: true } };
});
client.setRequestHandler('sampling/createMessage', ({ params }) => ({
  role: 'assistant',
  content: { type: 'text', text: params.messages[0].content.text.toUpperCase() },
  model: 'none',
}));
let tell;
const changed = new Promise((told) => (tell = told));
client.setNotificationHandler('notifications/resources/updated', ({ params }) => tell(params.uri));

await client.connect(transport);
const call = async (name, args) => client.callTool({ name, arguments: args });
const tools = (await client.listTools()).tools.map((tool) => tool.name);
const added = (await call('add_note', { text: 'buy milk', tag: 'shop' })).structuredContent;
const subscription = mode === 'auto' ? await client.listen({ resourceSubscriptions: [added.uri] }) : undefined;
if (mode === 'legacy') await client.subscribeResource({ uri: added.uri });
const imported = await call('import_notes', { text: 'one\ntwo' });
const found = (await call('find_notes', { words: 'milk' })).structuredContent.notes;
const listed = (await client.listResources()).resources.map((resource) => resource.name);
const read = (await client.readResource({ uri: added.uri })).contents[0].text;
const prompt = (await client.getPrompt({ name: 'review', arguments: { tag: 'shop' } })).messages[0].content.text;
const tags = await client.complete({ ref: { type: 'ref/prompt', name: 'review' }, argument: { name: 'tag', value: 's' } });
const summed = await call('sum_up', {});
const deleted = await call('delete_note', { id: added.id });
const updated = await changed;
await subscription?.close();
const gone = await call('delete_note', { id: added.id });
const revision = client.getNegotiatedProtocolVersion();
await client.close();
console.log(
  JSON.stringify({
    revision,
    tools,
    uri: added.uri,
    imported: imported.content[0].text,
    found: found.map((note) => note.text),
    listed,
    read,
    prompt,
    tags: tags.completion.values,
    summed: summed.content[0].text,
    asked,
    deleted: deleted.content[0].text,
    updated,
    gone: [gone.isError, gone.content[0].text],
  }),
);
