import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';

const ROOT = new URL('../', import.meta.url);
const FOLDERS = ['shared/src', 'edge/src', 'desktop', 'extension', 'fuzz', 'scripts', 'e2e'];
/** The only file that calls zod's parsers. */
const READER = 'shared/src/schema/read.ts';
/** Objects with a method `parse` that are not schemas. */
const OTHERS = new Set(['JSON', 'Date', 'URL', 'path', 'command', 'program', 'parser']);

/** Returns the calls of schemas' own methods in a program's text. */
function directCalls(text: string): string[] {
  const methods = /([\w$]+|[)\]])\s*[?!]?\.\s*((?:safe)?(?:parse|decode|encode)(?:Async)?)\b/gi;
  return [...text.matchAll(methods)].flatMap(([whole, receiver, method]) => {
    const isPlain = method === 'parse' || method === 'parseAsync';
    // Texts and bytes have methods `decode` and `encode` too.
    if (/^(?:de|en)code$/.test(method as string)) return [];
    return isPlain && OTHERS.has(receiver as string) ? [] : [whole];
  });
}

function programs(): string[] {
  return FOLDERS.flatMap((folder) =>
    readdirSync(new URL(folder, ROOT), { recursive: true, encoding: 'utf8' })
      .map((file) => `${folder}/${file.replaceAll('\\', '/')}`)
      // Specs count as programs; unit tests may call schemas directly.
      .filter((file) => (folder === 'e2e' ? /\.tsx?$/ : /(?<!\.test)\.tsx?$/).test(file))
      .filter((file) => !/(?:^|\/)(?:node_modules|dist)\//.test(file)),
  );
}

test('programs call schemas only through tryRead and readOrThrow', () => {
  const files = programs();
  const found = files
    .filter((file) => file !== READER)
    .flatMap((file) =>
      directCalls(readFileSync(new URL(file, ROOT), 'utf8')).map((call) => `${file}: ${call}`),
    );
  // If this fails: import from @millrace/shared/schema/read.
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
  '%j is not a call of a schema',
  (text) => {
    expect(directCalls(text)).toEqual([]);
  },
);
