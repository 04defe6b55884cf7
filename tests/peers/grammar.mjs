// The engine with which VS Code colours text: `grammar.mjs GRAMMAR FILE` prints each token of a file that is not left as it
// is, with the innermost of its scopes.
import fs from 'node:fs';
import { createRequire } from 'node:module';
import oniguruma from 'vscode-oniguruma';
import textmate from 'vscode-textmate';

const [grammarFile, file] = process.argv.slice(2);
const wasm = createRequire(import.meta.url).resolve('vscode-oniguruma/release/onig.wasm');
await oniguruma.loadWASM(fs.readFileSync(wasm).buffer);
const registry = new textmate.Registry({
  onigLib: Promise.resolve({
    createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
    createOnigString: (text) => new oniguruma.OnigString(text),
  }),
  loadGrammar: async () => textmate.parseRawGrammar(fs.readFileSync(grammarFile, 'utf8'), grammarFile),
});
const grammar = await registry.loadGrammar('source.session');
let state = textmate.INITIAL;
for (const line of fs.readFileSync(file, 'utf8').split('\n')) {
  const { tokens, ruleStack } = grammar.tokenizeLine(line, state);
  state = ruleStack;
  for (const { startIndex, endIndex, scopes } of tokens) {
    const text = line.slice(startIndex, endIndex);
    const scope = scopes.at(-1).replace(/\.session$/, '');
    if (text.trim() && scope !== 'source') console.log(`${text.trim()}  ${scope}`);
  }
}
