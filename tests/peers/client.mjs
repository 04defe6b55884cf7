// The TypeScript SDK's client over HTTP: a session with the server at the address that is the first argument. Prints
// what it got as JSON. Its model, which the server may ask, says "four".
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CreateMessageRequestSchema } from '@modelcontextprotocol/sdk/types.js';

const transport = new StreamableHTTPClientTransport(new URL(process.argv[2]));
const client = new Client({ name: 'peer', version: '1.0.0' }, { capabilities: { sampling: {} } });
client.setRequestHandler(CreateMessageRequestSchema, async () => ({
  model: 'calculator',
  role: 'assistant',
  content: { type: 'text', text: 'four' },
}));
await client.connect(transport);
const tools = (await client.listTools()).tools.map((tool) => tool.name);
const echo = await client.callTool({ name: 'echo', arguments: { message: 'grüße' } });
const asked = await client.callTool({ name: 'ask_model', arguments: { question: 'two and two' } });
const session = transport.sessionId;
await transport.terminateSession();
await client.close();
console.log(JSON.stringify({ session, tools, echo: echo.content[0].text, asked: asked.content[0].text }));
