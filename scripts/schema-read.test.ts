import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';

const ROOT = new URL('../', import.meta.url);
const FOLDERS = ['shared/src', 'edge/src', 'desktop', 'extension', 'fuzz', 'scripts', 'e2e'];
/** Calls zod, for all others. */
const READER = 'shared/src/schema/read.ts';
/** Objects with a method `parse` that are no schemas. */
const OTHERS = new Set(['JSON', 'Date', 'URL', 'path', 'command', 'program', 'parser']);

/** Calls of a schema's own methods in a program's text. */
function directCalls(text: string): string[] {
  const methods = /([\w$]+|[)\]])\s*[?!]?\.\s*((?:safe)?(?:parse|decode|encode)(?:Async)?)\b/gi;
  return [...text.matchAll(methods)].flatMap(([whole, receiver, method]) => {
    const isPlain = method === 'parse' || method === 'parseAsync';
    // Texts and bytes are decoded and encoded too.
    if (/^(?:de|en)code$/.test(method as string)) return [];
    return isPlain && OTHERS.has(receiver as string) ? [] : [whole];
  });
}

function programs(): string[] {
  return FOLDERS.flatMap((folder) =>
    readdirSync(new URL(folder, ROOT), { recursive: true, encoding: 'utf8' })
      .map((file) => `${folder}/${file.replaceAll('\\', '/')}`)
      // Specs are programs too; tests beside what they test may ask a schema what they like.
      .filter((file) => (folder === 'e2e' ? /\.tsx?$/ : /(?<!\.test)\.tsx?$/).test(file))
      .filter((file) => !/(?:^|\/)(?:node_modules|dist)\//.test(file)),
  );
}

test('no program asks a schema but by tryRead and readOrThrow', () => {
  const files = programs();
  const found = files
    .filter((file) => file !== READER)
    .flatMap((file) =>
      directCalls(readFileSync(new URL(file, ROOT), 'utf8')).map((call) => `${file}: ${call}`),
    );
  // To mend it: import from @millrace/shared/schema/read.
  expect(found).toEqual([]);
  expect(files).toContain(READER);
  expect(files.length).toBeGreaterThan(500);
});

test.each([
  'schema.safeParse(x)',
  'schema.parse(x)',
  'z.array(one)\n  .safeParse(x)',
  'SETTINGS[name].schema?.safeParse(x)',
  'list.map(schema.parse)',
  'await schema.parseAsync(x)',
  'schemas[0].parse(x)',
  'schema.safeDecode(x)',
])('%j is seen', (text) => {
  expect(directCalls(text)).toHaveLength(1);
});

test.each(['JSON.parse(x)', 'Date.parse(x)', 'this.#parse()', 'parse(x)', 'decoder.decode(x)'])(
  '%j is no call of a schema',
  (text) => {
    expect(directCalls(text)).toEqual([]);
  },
);
