// The session that a client of either TypeScript SDK plays, with any server that has the tools of `server.mjs`. The SDK
// itself is the caller's: what differs between the two, and how to reach the server, is in `client.mjs` and
// `client2.mjs`.

/** What the client answers when the server asks. */
export const answers = {
  model: () => ({ model: 'calculator', role: 'assistant', content: { type: 'text', text: 'four' } }),
  user: () => ({ action: 'accept', content: { name: 'Ada' } }),
};

/** What the client has been told, and a promise of more. */
export class Heard {
  logs = [];
  updated = [];
  #wake = () => {};

  log(params) {
    this.logs.push(params.data);
    this.#wake();
  }

  update(params) {
    this.updated.push(params.uri);
    this.#wake();
  }

  /** Waits until what was told is as `wanted` says. Nothing else is told while this waits, so one waiter is enough. */
  async until(wanted) {
    while (!wanted(this)) await new Promise((wake) => (this.#wake = wake));
  }
}

/** Plays the session and gives what was seen of it. `callTool` takes the parameters and the options of a call. */
export async function play(client, heard, callTool) {
  const call = async (name, args, options) => (await callTool({ name, arguments: args }, options)).content[0].text;
  const seen = { server: client.getServerVersion().name };

  seen.tools = (await client.listTools()).tools.map((tool) => tool.name);
  seen.echo = await Promise.all([call('echo', { message: 'grüße' }), call('echo', { message: 'twice' })]);

  await client.setLoggingLevel('debug');
  seen.progress = [];
  const onprogress = ({ progress, total }) => seen.progress.push([progress, total]);
  seen.counted = await call('count', { to: 3 }, { onprogress });
  await heard.until(({ logs }) => logs.length > 0);

  seen.model = await call('ask_model', { question: 'two and two' });
  seen.user = await call('ask_user', { message: 'who are you' });

  // What is cancelled as soon as it has begun.
  const enough = new AbortController();
  const held = call('hold', {}, { signal: enough.signal, onprogress: () => enough.abort('seen enough') });
  seen.held = await held.then(() => 'answered', () => 'cancelled');
  seen.wait_for_cancel = await call('wait_for_cancel', {});
  seen.hung_up = await call('release_connection', {});

  const uri = 'desk://note';
  seen.note = (await client.readResource({ uri })).contents[0].text;
  await client.subscribeResource({ uri });
  await call('touch', { uri });
  await heard.until(({ updated }) => updated.length > 0);
  await client.unsubscribeResource({ uri });

  seen.refused = await call('nothing', {}).then((text) => ({ text }), ({ code }) => ({ code }));
  return { ...seen, logs: heard.logs, updated: heard.updated };
}
