// An editor with the library that VS Code talks to language servers with: `editor.mjs COMMAND…` starts a server, opens a
// document, changes it and asks about it, and shuts the server down. Prints what it saw as JSON.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import protocol from 'vscode-languageserver-protocol/node.js';

const [command, ...rest] = process.argv.slice(2);
const server = spawn(command, rest, { stdio: ['pipe', 'pipe', 'inherit'] });
const exited = once(server, 'exit');
const connection = protocol.createProtocolConnection(
  new protocol.StreamMessageReader(server.stdout),
  new protocol.StreamMessageWriter(server.stdin),
);
const diagnostics = [];
const cleared = new Promise((resolve) => {
  connection.onNotification(protocol.PublishDiagnosticsNotification.type, (params) => {
    diagnostics.push(params);
    if (params.diagnostics.length === 0) resolve();
  });
});
connection.onError((error) => console.error(error));
connection.listen();

const { capabilities } = await connection.sendRequest(protocol.InitializeRequest.type, {
  processId: process.pid,
  rootUri: null,
  capabilities: { textDocument: { hover: { contentFormat: ['plaintext'] } } },
});
await connection.sendNotification(protocol.InitializedNotification.type, {});
await connection.sendNotification(protocol.SetTraceNotification.type, { value: 'off' });

const uri = 'file:///note.txt';
const hover = (uri, token) => {
  const params = { textDocument: { uri }, position: { line: 0, character: 0 } };
  return connection.sendRequest(protocol.HoverRequest.type, params, token);
};
await connection.sendNotification(protocol.DidOpenTextDocumentNotification.type, {
  textDocument: { uri, languageId: 'plaintext', version: 0, text: 'text0 TODO' },
});
const hovers = [];
for (let version = 1; version <= 50; version += 1) {
  await connection.sendNotification(protocol.DidChangeTextDocumentNotification.type, {
    textDocument: { uri, version },
    contentChanges: [{ text: `text${version} TODO TODO` }],
  });
  const answers = await Promise.all([hover(uri), hover(uri)]);
  hovers.push(...answers.map((answer) => answer.contents));
}

// The answer to a request that was cancelled is its result or the error for cancelled requests.
const source = new protocol.CancellationTokenSource();
const cancelled = hover(uri, source.token).then((answer) => answer.contents, ({ code }) => code);
source.cancel();
const code = (request) => request.then(() => 0, (error) => error.code);
const errors = {
  closed: await code(hover('file:///other.txt')),
  notOffered: await code(
    connection.sendRequest(protocol.DocumentSymbolRequest.type, { textDocument: { uri } }),
  ),
  unknown: await code(connection.sendRequest('$/unknown', {})),
};
await connection.sendNotification('$/unknown', {});
await connection.sendNotification(protocol.DidCloseTextDocumentNotification.type, { textDocument: { uri } });
await cleared;
await connection.sendRequest(protocol.ShutdownRequest.type);
await connection.sendNotification(protocol.ExitNotification.type);
const [exit] = await exited;
console.log(JSON.stringify({ capabilities, diagnostics, hovers, cancelled: await cancelled, errors, exit }));
