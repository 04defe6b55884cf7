// An editor with the library that VS Code talks to language servers with, and nothing of ours: `session_editor.mjs FOLDER
// COMMAND…` starts the language server of `.session` files, writes a protocol with a mistake, follows what the server
// suggests, and renames, formats and asks. It prints the answers as JSON; `FOLDER` stands for the folder.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { pathToFileURL } from 'node:url';
import protocol from 'vscode-languageserver-protocol/node.js';

const [folder, command, ...rest] = process.argv.slice(2);
const root = pathToFileURL(folder).href;
const server = spawn(command, rest, { stdio: ['pipe', 'pipe', 'inherit'], cwd: folder });
const exited = once(server, 'exit');
const connection = protocol.createProtocolConnection(
  new protocol.StreamMessageReader(server.stdout),
  new protocol.StreamMessageWriter(server.stdin),
);
connection.onError((error) => console.error(error));
connection.onRequest(protocol.RegistrationRequest.type, () => {});

/** Who waits for the diagnostics of a version of a document. */
const published = new Map();
const waiting = new Map();
connection.onNotification(protocol.PublishDiagnosticsNotification.type, ({ uri, version, diagnostics }) => {
  const key = `${uri} ${version}`;
  published.set(key, diagnostics);
  waiting.get(key)?.(diagnostics);
});
const diagnostics = (uri, version) => {
  const key = `${uri} ${version}`;
  return published.get(key) ?? new Promise((resolve) => waiting.set(key, resolve));
};
connection.listen();

const { capabilities } = await connection.sendRequest(protocol.InitializeRequest.type, {
  processId: process.pid,
  rootUri: root,
  workspaceFolders: [{ uri: root, name: 'folder' }],
  capabilities: {
    textDocument: {
      hover: { contentFormat: ['markdown', 'plaintext'] },
      documentSymbol: { hierarchicalDocumentSymbolSupport: true },
    },
    workspace: {
      workspaceEdit: { documentChanges: true },
      didChangeWatchedFiles: { dynamicRegistration: true },
    },
  },
});
await connection.sendNotification(protocol.InitializedNotification.type, {});

const uri = `${root}/counter.session`;
const textDocument = { uri };
let version = 1;
let text = `import "messages.session"

client Teller
server Counter = dual Teller

Teller = rec α . (!Add . α ⊕ !Total . ?Total . α ⊕ End)
`;

/** The position of a part of the text, some characters behind its beginning. */
const at = (part, behind = 0) => {
  const lines = text.slice(0, text.indexOf(part) + behind).split('\n');
  return { line: lines.length - 1, character: lines.at(-1).length };
};
const offset = ({ line, character }) =>
  text.split('\n').slice(0, line).reduce((sum, before) => sum + before.length + 1, 0) + character;
const change = async (edits) => {
  for (const { range, newText } of [...edits].sort((a, b) => offset(b.range.start) - offset(a.range.start))) {
    text = text.slice(0, offset(range.start)) + newText + text.slice(offset(range.end));
  }
  version += 1;
  await connection.sendNotification(protocol.DidChangeTextDocumentNotification.type, {
    textDocument: { uri, version },
    contentChanges: [{ text }],
  });
};
const editsOf = (edit) => edit.documentChanges.find((document) => document.textDocument.uri === uri).edits;
const failure = (request) => request.then(() => null, ({ code, message }) => ({ code, message }));

await connection.sendNotification(protocol.DidOpenTextDocumentNotification.type, {
  textDocument: { uri, languageId: 'session', version, text },
});
const mistakes = await diagnostics(uri, 1);
const actions = await connection.sendRequest(protocol.CodeActionRequest.type, {
  textDocument,
  range: mistakes[0].range,
  context: { diagnostics: mistakes },
});
await change(editsOf(actions[0].edit));
const mended = { text, diagnostics: await diagnostics(uri, 2) };

const rename = (position, newName) =>
  connection.sendRequest(protocol.RenameRequest.type, { textDocument, position, newName });
const refused = {
  keyword: await failure(rename(at('α'), 'rec')),
  clash: await failure(rename(at('?Sum', 1), 'Add')),
  notAName: await failure(rename(at('α'), 'two words')),
};
const renamedLoop = await rename(at('α'), 'next');
await change(editsOf(renamedLoop));
const renamedMessage = await rename(at('!Add', 2), 'Plus');
const formatting = await connection.sendRequest(protocol.DocumentFormattingRequest.type, {
  textDocument,
  options: { tabSize: 2, insertSpaces: true },
});
await change(formatting);
const ask = (type, position, more) => connection.sendRequest(type, { textDocument, position, ...more });
const answers = {
  formatted: { text, diagnostics: await diagnostics(uri, 4) },
  definition: await ask(protocol.DefinitionRequest.type, at('!Add', 1)),
  references: await ask(protocol.ReferencesRequest.type, at('!Add', 1), { context: { includeDeclaration: true } }),
  hover: await ask(protocol.HoverRequest.type, at('Teller = ')),
  completion: await ask(protocol.CompletionRequest.type, at('!Add', 1)),
  symbols: await connection.sendRequest(protocol.DocumentSymbolRequest.type, { textDocument }),
  diagram: await connection.sendRequest(protocol.ExecuteCommandRequest.type, {
    command: 'sessionc.diagram',
    arguments: [{ uri, format: 'mermaid', withoutRefusals: true }],
  }),
};
await connection.sendNotification(protocol.DidCloseTextDocumentNotification.type, { textDocument });
await connection.sendRequest(protocol.ShutdownRequest.type);
await connection.sendNotification(protocol.ExitNotification.type);
const [exit] = await exited;
const all = { capabilities, mistakes, actions, mended, refused, renamedLoop, renamedMessage, ...answers, exit };
console.log(JSON.stringify(all, null, 2).replaceAll(root, 'FOLDER'));
