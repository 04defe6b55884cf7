// The panel with a diagram, in an editor that is made up: `diagrams.cjs FILE` loads the client of the extension for VS Code,
// and prints as JSON what its panel shows while a text changes, has errors, and is mended.
'use strict';

const Module = require('node:module');

const document = { languageId: 'session', uri: { toString: () => 'file:///a.session' } };
const pages = [];
const waiting = [];
const shown = () => new Promise((resolve) => waiting.push(resolve));
const panel = {
  title: '',
  webview: {
    set html(page) {
      pages.push({ title: panel.title, problem: /<p>(.*)<\/p>/.exec(page)[1], picture: /<svg.*<\/svg>/.exec(page)?.[0] });
      waiting.splice(0).forEach((resolve) => resolve());
    },
  },
  reveal: () => pages.push('revealed'),
  onDidDispose: (ended) => (panel.dispose = ended),
};
let changed;
const vscode = {
  ViewColumn: { Beside: -2 },
  window: { activeTextEditor: { document }, createWebviewPanel: () => panel },
  workspace: {
    onDidChangeTextDocument: (listener) => {
      changed = () => listener({ document });
      return { dispose: () => pages.push('no longer listening') };
    },
  },
};
const load = Module._load;
Module._load = (name, ...rest) => (name === 'vscode' ? vscode : load(name, ...rest));
const { Diagrams } = require(process.argv[2]);

const answers = [
  () => ({ role: 'Teller', text: '<svg>1</svg>' }),
  () => { throw new Error('`a.session` has errors: correct <them> first'); },
  () => ({ role: 'Teller', text: '<svg>2</svg>' }),
];
const questions = [];
const diagrams = new Diagrams(async (argument) => {
  questions.push(argument);
  return answers.shift()();
});

(async () => {
  let next = shown();
  diagrams.show('client');
  await next;
  // The same panel, and no further question.
  diagrams.show('client');
  for (let turn = 0; turn < 2; turn += 1) {
    next = shown();
    // Two changes in a row are one question.
    changed();
    changed();
    await next;
  }
  diagrams.dispose();
  changed();
  console.log(JSON.stringify({ questions, pages }, null, 2));
})();
