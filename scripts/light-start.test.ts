import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { bundle, COMMANDS, NATIVE } from './bundle.mjs';

const ROOT = new URL('../', import.meta.url);
const FOLDERS = ['shared/src', 'shared/node', 'edge/src', 'desktop'];

/** Returns the statements of a program that import more than types from `node:http`. */
function imports(text: string): string[] {
  const statements = /^import (?!type )[^;]*? from '(?:node:)?http';$/gm;
  return [...text.matchAll(statements)].flatMap(([statement]) => {
    const names = /\{([^}]*)\}/.exec(statement)?.[1]?.split(',') ?? [statement];
    const values = names.map((name) => name.trim()).filter((name) => name !== '');
    return values.every((name) => name.startsWith('type ')) ? [] : [statement];
  });
}

test('no program imports values of node:http, which load a whole HTTP client of Node', () => {
  const files = FOLDERS.flatMap((folder) =>
    readdirSync(new URL(folder, ROOT), { recursive: true, encoding: 'utf8' })
      .map((file) => `${folder}/${file.replaceAll('\\', '/')}`)
      .filter((file) => /(?<!\.test)\.tsx?$/.test(file))
      .filter((file) => !/(?:^|\/)(?:node_modules|dist|testing)\//.test(file)),
  );
  const found = files.flatMap((file) => {
    const text = readFileSync(new URL(file, ROOT), 'utf8');
    return imports(text).map((statement) => `${file}: ${statement}`);
  });
  // An import statement reads all exports, and three of them load undici: 40 ms of each start. If
  // this fails: process.getBuiltinModule('node:http').
  expect(found).toEqual([]);
  expect(files.length).toBeGreaterThan(500);
});

test.each([
  "import { createServer } from 'node:http';",
  "import http from 'http';",
  "import * as http from 'node:http';",
  "import {\n  type Server,\n  request,\n} from 'node:http';",
])('%j is seen', (text) => {
  expect(imports(text)).toHaveLength(1);
});

test.each([
  "import type { Server } from 'node:http';",
  "import { type Server } from 'node:http';",
  "import { connect } from 'node:net';\nimport type { Server } from 'node:http';",
])('%j loads nothing', (text) => {
  expect(imports(text)).toEqual([]);
});

test('a part of a bundle makes a function `require` only if it calls it', async () => {
  const names = ['hash-worker', 'pac-worker'];
  const programs = Object.fromEntries(names.map((name) => [name, COMMANDS[name] ?? '']));
  const options = { external: Object.keys(NATIVE), esbuild: { write: false } };
  const { outputFiles } = await bundle('bundled', programs, {}, options);
  const parts = outputFiles.filter(({ path }) => path.endsWith('.mjs'));
  const makes = ({ text }: { readonly text: string }) => text.includes('makeRequire(');
  const calls = ({ text }: { readonly text: string }) => /\brequire\b(?! = makeRequire)/.test(text);
  expect(parts).toHaveLength(names.length);
  expect(parts.map(makes)).toEqual(parts.map(calls));
  expect(parts.some((part) => !makes(part))).toBe(true);
});
