// The client: starts `sessionc lsp`, and shows diagrams.
'use strict';

const vscode = require('vscode');
const { LanguageClient } = require('vscode-languageclient/node');
const { Diagrams } = require('./diagrams');

/** @type {LanguageClient | undefined} */
let client;

/** Starts the server, and says what to do where that fails. */
async function start() {
  const command = vscode.workspace.getConfiguration('session').get('server.path') || 'sessionc';
  const server = { command, args: ['lsp'] };
  const started = new LanguageClient('session', 'Session types', server, {
    documentSelector: [{ language: 'session' }],
  });
  client = started;
  try {
    await started.start();
  } catch (error) {
    client = undefined;
    const install = 'install it with `cargo install --locked sessionc`, or set `session.server.path`';
    vscode.window.showErrorMessage(`The server \`${command} lsp\` cannot be started: ${install}. ${error}`);
  }
}

async function stop() {
  const stopped = client;
  client = undefined;
  await stopped?.stop();
}

/** @param {vscode.ExtensionContext} context */
async function activate(context) {
  const diagrams = new Diagrams((argument) => {
    const params = { command: 'sessionc.diagram', arguments: [argument] };
    return client ? client.sendRequest('workspace/executeCommand', params) : Promise.reject(new Error('no server runs'));
  });
  context.subscriptions.push(
    diagrams,
    vscode.commands.registerCommand('session.showClientDiagram', () => diagrams.show('client')),
    vscode.commands.registerCommand('session.showServerDiagram', () => diagrams.show('server')),
    vscode.commands.registerCommand('session.restartServer', async () => {
      await stop();
      await start();
    }),
    vscode.workspace.onDidChangeConfiguration(async (change) => {
      if (change.affectsConfiguration('session.server.path')) {
        await stop();
        await start();
      }
    }),
  );
  await start();
}

module.exports = { activate, deactivate: stop };
