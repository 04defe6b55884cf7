// JSON Schema and MCP's SDK for TypeScript: `export` prints the schema of the types that it exports, `judge` says which
// values they accept.

import { readFileSync } from 'node:fs';

import * as types from '@modelcontextprotocol/sdk/types.js';
import * as z from 'zod/v4';

const exported = Object.entries(types).filter(([name, type]) => name.endsWith('Schema') && type instanceof z.ZodType);

function exportSchema() {
  const registry = z.registry();
  for (const [name, type] of exported) {
    registry.add(type, { id: name });
  }
  const { schemas } = z.toJSONSchema(registry, {
    io: 'input',
    unrepresentable: 'any',
    uri: (name) => `#/$defs/${name}`,
  });
  for (const schema of Object.values(schemas)) {
    delete schema.$id;
    delete schema.$schema;
  }
  return { $defs: schemas };
}

// The issues that no exported schema has: checks that are functions, and formats, which are annotations there.
const NOT_EXPORTED = ['custom', 'invalid_format'];

// The codes of issues, if a schema has none of them. One alternative of a union is enough.
function notExported(issues) {
  const codes = issues.map((issue) => {
    if (issue.code === 'invalid_union') {
      return issue.errors.map(notExported).find((code) => code !== undefined);
    }
    return NOT_EXPORTED.find((code) => code === issue.code);
  });
  return codes.includes(undefined) ? undefined : codes[0];
}

// `accepted`, the code of what the exported schema does not say, or `refused`.
function verdict(type, value) {
  const { success, error } = type.safeParse(value);
  return success ? 'accepted' : (notExported(error.issues) ?? 'refused');
}

function judge({ cases }) {
  return cases.map(([name, value]) => verdict(types[name], value));
}

switch (process.argv[2]) {
  case 'export':
    console.log(JSON.stringify(exportSchema()));
    break;
  case 'judge':
    console.log(JSON.stringify(judge(JSON.parse(readFileSync(0, 'utf8')))));
    break;
}
