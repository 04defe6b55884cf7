// An agent of the Agent Client Protocol on `@agentclientprotocol/sdk`. The text of a prompt says what it does in the
// turn: what the example agent of the SDK does not do.

import { Readable, Writable } from 'node:stream';
import * as acp from '@agentclientprotocol/sdk';

const { session, fs } = acp.methods.client;

/** The open conversations: the turn that runs in each of them, and how many cancels came while none did. */
const conversations = new Map();

const says = (text) => ({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } });

/** What an agent does with a prompt. Each returns why the turn has stopped. */
const turns = {
  /** Asks for three permissions at once, and says what was chosen, in the order of the questions. */
  async permissions({ sessionId, ask, say }) {
    const chosen = await Promise.all(['a', 'b', 'c'].map((tool) => ask(sessionId, tool)));
    await say(chosen.map(({ outcome }) => outcome.optionId).join(' '));
    return 'end_turn';
  },

  /** Reads and writes a file while two commands run. One of them ends by itself, the other one when it is killed. */
  async tools({ sessionId, client, say }) {
    const run = (command) => client.createTerminal({ sessionId, command });
    const [quick, endless] = await Promise.all([run('quick'), run('endless')]);
    const exits = Promise.all([quick.waitForExit(), endless.waitForExit()]);
    const { content } = await client.request(fs.readTextFile, { sessionId, path: '/project/notes' });
    await client.request(fs.writeTextFile, { sessionId, path: '/project/notes', content: `${content}!` });
    await endless.kill();
    const [first, second] = await exits;
    const { output } = await quick.currentOutput();
    await Promise.all([quick.release(), endless.release()]);
    await say(`${first.exitCode} ${second.signal} ${output}`);
    return 'end_turn';
  },

  /** Starts a command and does not wait for it: it outlives the turn. */
  async background({ sessionId, client, conversation }) {
    conversation.terminal = await client.createTerminal({ sessionId, command: 'endless' });
    return 'end_turn';
  },

  /** Releases that command, while it still waits for its end. */
  async release({ conversation, say }) {
    const exit = conversation.terminal.waitForExit().then(() => 'ended', (error) => `error ${error.code}`);
    await conversation.terminal.release();
    await say(await exit);
    return 'end_turn';
  },

  /** Waits for an answer until it is cancelled, and withdraws its question then. */
  async wait({ sessionId, ask, say, cancelled }) {
    const answer = await ask(sessionId, 'anything', cancelled).catch((error) => ({ refused: error.code }));
    await say(JSON.stringify(answer));
    return 'cancelled';
  },

  /** Says how many cancels came between the turns. */
  async count({ conversation, say }) {
    await say(`${conversation.late}`);
    return 'end_turn';
  },

  async nothing() {
    return 'end_turn';
  },

  async fail() {
    throw new acp.RequestError(-32603, 'no model');
  },
};

async function prompt({ params, client }) {
  const { sessionId } = params;
  const conversation = conversations.get(sessionId);
  const turn = (conversation.turn = new AbortController());
  const ask = (id, tool, cancellationSignal) =>
    client.request(
      session.requestPermission,
      {
        sessionId: id,
        toolCall: { toolCallId: tool, title: tool },
        options: [{ optionId: `${tool}-yes`, name: 'Yes', kind: 'allow_once' }],
      },
      { cancellationSignal },
    );
  const say = (text) => client.notify(session.update, { sessionId, update: says(text) });
  const context = { sessionId, client, conversation, ask, say, cancelled: turn.signal };
  try {
    return { stopReason: await turns[params.prompt[0].text](context) };
  } finally {
    conversation.turn = undefined;
  }
}

function cancel({ params }) {
  const conversation = conversations.get(params.sessionId);
  if (conversation.turn) conversation.turn.abort();
  else conversation.late += 1;
}

acp
  .agent({ name: 'test-agent' })
  .onRequest('initialize', () => ({
    protocolVersion: acp.PROTOCOL_VERSION,
    agentCapabilities: { loadSession: true, sessionCapabilities: { close: {}, list: {}, resume: {} } },
  }))
  .onRequest('session/new', async ({ client }) => {
    const sessionId = `conversation-${conversations.size}`;
    conversations.set(sessionId, { late: 0 });
    // The client does not know this id before it has the reply.
    await client.notify(session.update, { sessionId, update: says('early') });
    return { sessionId };
  })
  .onRequest('session/load', async ({ params: { sessionId }, client }) => {
    conversations.set(sessionId, { late: 0 });
    for (const text of ['first', 'second']) await client.notify(session.update, { sessionId, update: says(text) });
    return {};
  })
  .onRequest('session/resume', async ({ params: { sessionId }, client }) => {
    conversations.set(sessionId, { late: 0 });
    await client.notify(session.update, { sessionId, update: says('resumed') });
    return {};
  })
  .onRequest('session/list', ({ params: { cursor } }) => {
    const page = (id, nextCursor) => ({ sessions: [{ sessionId: id, cwd: '/project' }], nextCursor });
    return cursor ? page('last') : page('first', 'more');
  })
  .onRequest('session/close', async ({ params: { sessionId }, client }) => {
    conversations.get(sessionId).turn?.abort();
    await client.notify(session.update, { sessionId, update: says('closing') });
    return {};
  })
  .onRequest('session/prompt', prompt)
  .onNotification('session/cancel', cancel)
  .onRequest('_test/echo', (params) => params, ({ params }) => params)
  .connect(acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
