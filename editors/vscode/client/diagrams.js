// Panels with diagrams, each of one role of one document. They follow the text while it changes.
'use strict';

const vscode = require('vscode');

/** How long the text must rest before its diagram is drawn again, in milliseconds. */
const REST = 250;

class Diagrams {
  /** @param {(argument: object) => Promise<{ role: string, text: string }>} draw asks the server */
  constructor(draw) {
    this.draw = draw;
    /** @type {Map<string, Diagram>} */
    this.open = new Map();
    this.changes = vscode.workspace.onDidChangeTextDocument(({ document }) => {
      // What is drawn of a document may stand in a file that it imports.
      if (document.languageId === 'session') this.open.forEach((diagram) => diagram.refreshSoon());
    });
  }

  /** Shows a role of the document at hand. @param {'client' | 'server'} role */
  show(role) {
    const document = vscode.window.activeTextEditor?.document;
    if (document?.languageId !== 'session') {
      vscode.window.showInformationMessage('Open a `.session` file to see its diagram.');
      return;
    }
    const uri = document.uri.toString();
    const key = `${role} ${uri}`;
    const known = this.open.get(key);
    if (known) {
      known.panel.reveal(undefined, true);
      return;
    }
    const diagram = new Diagram(uri, role, this.draw);
    this.open.set(key, diagram);
    diagram.panel.onDidDispose(() => {
      diagram.end();
      this.open.delete(key);
    });
  }

  dispose() {
    this.changes.dispose();
    [...this.open.values()].forEach((diagram) => diagram.panel.dispose());
  }
}

class Diagram {
  /**
   * @param {string} uri
   * @param {'client' | 'server'} role
   * @param {(argument: object) => Promise<{ role: string, text: string }>} draw
   */
  constructor(uri, role, draw) {
    this.argument = { uri, role, withoutRefusals: true };
    this.draw = draw;
    /** The number of the last question; an earlier answer is late. */
    this.asked = 0;
    /** The last picture, which stays while the text has errors. */
    this.picture = '';
    const column = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
    this.panel = vscode.window.createWebviewPanel('session.diagram', `Diagram of the ${role}`, column, {
      enableScripts: false,
    });
    this.refresh();
  }

  refreshSoon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.refresh(), REST);
  }

  async refresh() {
    this.asked += 1;
    const number = this.asked;
    try {
      const { role, text } = await this.draw(this.argument);
      if (number !== this.asked) return;
      this.picture = text;
      this.panel.title = `Diagram of ${role}`;
      this.panel.webview.html = page(this.picture, '');
    } catch (error) {
      if (number === this.asked) this.panel.webview.html = page(this.picture, String(error?.message ?? error));
    }
  }

  end() {
    clearTimeout(this.timer);
    this.asked += 1;
  }
}

/** A page without scripts: a picture, which the server has made, and what is wrong with the text. */
function page(picture, problem) {
  const escaped = problem.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="UTF-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>
  svg { background: white; max-width: 100%; height: auto; }
  .old { opacity: 0.4; }
</style>
</head>
<body>
<p>${escaped}</p>
<div class="${problem ? 'old' : ''}">${picture}</div>
</body>
</html>`;
}

module.exports = { Diagrams };
