// A client of the Agent Client Protocol on `@agentclientprotocol/sdk`, on its own standard streams: the test that starts
// it is the agent. What it sees it sends to the agent at the end, as an extension.

import { Readable, Writable } from 'node:stream';
import * as acp from '@agentclientprotocol/sdk';

const { agent, client } = acp.methods;

/** What the agent has sent, by conversation, and what wakes the task that waits for more. */
const heard = new Map();
const questions = [];
let wake = () => {};

function note(sessionId, text) {
  heard.set(sessionId, [...(heard.get(sessionId) ?? []), text]);
  wake();
}

/** Waits until something is as it should be; nothing else waits meanwhile. */
async function until(found) {
  while (!found()) await new Promise((resolve) => (wake = resolve));
}

/** The terminals that run: how each is ended. */
const terminals = new Map();

function createTerminal({ params: { command } }) {
  const terminal = { output: 'done' };
  terminal.exited = new Promise((resolve) => (terminal.end = resolve));
  if (command !== 'endless') terminal.end({ exitCode: 0 });
  const terminalId = `terminal-${terminals.size}`;
  terminals.set(terminalId, terminal);
  return { terminalId };
}

function killTerminal({ params: { terminalId } }) {
  terminals.get(terminalId).end({ signal: 'SIGKILL' });
  return {};
}

const app = acp
  .client({ name: 'test-client' })
  .onNotification(client.session.update, ({ params: { sessionId, update } }) => note(sessionId, update.content.text))
  .onRequest(client.session.requestPermission, ({ params, signal }) => {
    const optionId = params.options[0].optionId;
    return new Promise((answer, refuse) => {
      const selected = () => answer({ outcome: { outcome: 'selected', optionId } });
      questions.push({ selected, cancelled: () => answer({ outcome: { outcome: 'cancelled' } }) });
      const withdrawn = () => refuse(acp.RequestError.requestCancelled());
      // The withdrawal may be here before the handler of the question is.
      if (signal.aborted) withdrawn();
      else signal.addEventListener('abort', withdrawn);
      wake();
    });
  })
  .onRequest(client.fs.readTextFile, () => ({ content: 'notes' }))
  .onRequest(client.fs.writeTextFile, ({ params }) => note(params.sessionId, params.content))
  .onRequest(client.terminal.create, createTerminal)
  .onRequest(client.terminal.output, ({ params: { terminalId } }) => ({
    output: terminals.get(terminalId).output,
    truncated: false,
  }))
  .onRequest(client.terminal.waitForExit, ({ params: { terminalId } }) => terminals.get(terminalId).exited)
  .onRequest(client.terminal.kill, killTerminal)
  .onRequest(client.terminal.release, killTerminal);

async function play(context) {
  const seen = {};
  const prompt = (sessionId, text, options) =>
    context.request(agent.session.prompt, { sessionId, prompt: [{ type: 'text', text }] }, options);
  const cancel = (sessionId) => context.notify(agent.session.cancel, { sessionId });
  await context.request(agent.initialize, {
    protocolVersion: acp.PROTOCOL_VERSION,
    clientCapabilities: { fs: { readTextFile: true, writeTextFile: true }, terminal: true },
  });

  // Two conversations at once: three questions in one of them, answered in the opposite order, and terminals in the other.
  const fresh = () => context.request(agent.session.new, { cwd: '/project', mcpServers: [] });
  const [{ sessionId: one }, { sessionId: two }] = await Promise.all([fresh(), fresh()]);
  const asked = prompt(one, 'permissions');
  const ran = prompt(two, 'tools');
  await until(() => questions.length === 3);
  for (const question of questions.splice(0).reverse()) question.selected();
  seen.stopped = [(await asked).stopReason, (await ran).stopReason];

  // The cancel crosses the end of its turn: the agent ends it without a pause after its last words.
  const quick = prompt(one, 'last words');
  await until(() => heard.get(one).includes('last words'));
  await cancel(one);
  seen.quick = (await quick).stopReason;
  await prompt(one, 'count');

  // A turn is cancelled while a question waits, in both ways; the client answers the question as it must.
  const waiting = prompt(two, 'wait');
  await until(() => questions.length === 1);
  await cancel(two);
  questions.pop().cancelled();
  seen.cancelled = (await waiting).stopReason;
  const withdrawn = new AbortController();
  const request = prompt(two, 'wait', { cancellationSignal: withdrawn.signal });
  await until(() => questions.length === 1);
  withdrawn.abort();
  questions.pop().cancelled();
  seen.withdrawn = await request.catch(({ code }) => code);

  // The agent withdraws a question of its own.
  await prompt(two, 'withdraw');
  questions.pop();

  // Conversations end: between turns, and during one. An ended one is loaded again.
  const close = (sessionId) => context.request(agent.session.close, { sessionId });
  await close(one);
  const last = prompt(two, 'wait');
  await until(() => questions.length === 1);
  const closed = close(two);
  questions.pop().cancelled();
  seen.closed = [(await last).stopReason, await closed];
  await context.request(agent.session.load, { sessionId: one, cwd: '/project', mcpServers: [] });
  seen.failed = await prompt(one, 'fail').catch(({ code }) => code);
  seen.listed = (await context.request(agent.session.list, {})).sessions.length;
  seen.echoed = await context.request('_test/echo', { a: 1 });
  seen.heard = Object.fromEntries(heard);
  await context.request('_test/seen', seen);
}

const stream = acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin));
await app.connectWith(stream, play);
process.exit(0);
