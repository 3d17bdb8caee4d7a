import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { buildProgram } from '../desktop/cli/program.ts';
import { edgeCommand } from '../edge/src/config/config.ts';
import { DOCUMENTS, documentUrl, generate } from './docs.ts';

test.each(Object.keys(DOCUMENTS))('%s matches the programs', async (path) => {
  const text = readFileSync(documentUrl(path), 'utf8');
  // If this fails: npm run docs
  expect(text).toBe(await generate(path, text));
});

/** Paths of all documents in the repository. */
const PATHS = execFileSync('git', ['ls-files', '*.md'], {
  cwd: fileURLToPath(documentUrl('')),
  encoding: 'utf8',
})
  .trim()
  .split('\n');
const read = (path: string) => readFileSync(documentUrl(path), 'utf8');

test('every test, benchmark and experiment that a document names exists', () => {
  const within = (folder: string) => readdirSync(new URL(`../${folder}`, import.meta.url));
  const specs = within('e2e/specs').flatMap((room) =>
    within(`e2e/specs/${room}`).flatMap((file) => [file, `${room}/${file}`]),
  );
  const tests = ['shared', 'edge', 'desktop', 'extension', 'fuzz', 'scripts'].flatMap((part) =>
    readdirSync(documentUrl(part), { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.test\.tsx?$/.test(file) && !file.includes('node_modules'))
      .map((file) => `${part}/${file}`),
  );
  const benches = readdirSync(documentUrl('e2e/bench'), { recursive: true, encoding: 'utf8' }).map(
    (path) => basename(path),
  );
  const there: Record<string, (name: string) => boolean> = {
    e2e: (name) => specs.some((file) => file.startsWith(name)),
    unit: (name) => tests.some((file) => new RegExp(name).test(file)),
    sim: (name) => within('e2e/sim/experiments').includes(`${name}.ts`),
    // One file may hold several experiments, whose names begin with the file's name.
    lab: (name) => within('e2e/lab/experiments').some((file) => name.startsWith(file.slice(0, -3))),
    bench: (name) => benches.includes(`${name}.ts`),
  };
  const missing: string[] = [];
  let found = 0;
  for (const path of PATHS) {
    for (const [command, kind, name] of read(path).matchAll(
      /npm run (?:-s )?(e2e|unit|sim|lab|bench)(?: --)? (?![-|])([\w/-]+)/g,
    )) {
      found++;
      const isStandIn = /^[A-Z]+$/.test(name as string);
      if (!isStandIn && there[kind as string]?.(name as string) !== true) missing.push(command);
    }
  }
  expect(missing).toEqual([]);
  expect(found).toBeGreaterThan(60);
});

test('every test that SECURITY.md names is in the named file', () => {
  const text = read('SECURITY.md');
  // One file may be followed by several titles.
  const named = [...text.matchAll(/`([\w./-]+\.test\.ts)`: ((?:“[^”]+”(?:, )?)+)/g)].flatMap(
    ([, path, titles]) =>
      [...(titles as string).matchAll(/“([^”]+)”/g)].map(([, title]) => [path, title] as const),
  );
  const missing = named.filter(([path, title]) => {
    const file = new URL(`../${path}`, import.meta.url);
    return !existsSync(file) || !readFileSync(file, 'utf8').includes(title as string);
  });
  expect(missing).toEqual([]);
  // Each attack names at least one test.
  const attacks = text
    .split('\n')
    .filter((line) => line.startsWith('| ') && line.includes('.test.ts'));
  expect(named.length).toBeGreaterThanOrEqual(attacks.length);
  expect(attacks.length).toBeGreaterThan(20);
});

test('every command and option that a document shows is one of the programs', async () => {
  // No command runs, so the program needs no context.
  const program = await buildProgram({} as never);
  const wrong: string[] = [];
  let found = 0;
  // Not: what was once so, and the texts of formats.
  const paths = PATHS.filter((path) => !['CHANGELOG.md', 'shared/README.md'].includes(path));
  for (const path of paths) {
    for (const words of commandsIn(read(path))) {
      found++;
      wrong.push(
        ...faultsOf(program, words).map((fault) => `${path}: ${fault} in ${words.join(' ')}`),
      );
    }
  }
  expect(wrong).toEqual([]);
  expect(found).toBeGreaterThan(150);
});

type Command = Awaited<ReturnType<typeof buildProgram>>;

/** How a document begins a command of Millrace. */
const PROGRAM =
  /^\s+(?:\$ )?(?:\w+=\S+ )*(?:(?:npm run (?:-s )?millrace --|npm start --|millrace) |npm run (edge) -- )(.+)$/;

/** Returns the commands of Millrace in the code of a document, as words behind the program's name. */
function commandsIn(text: string): string[][] {
  const lines = text.replaceAll(/\\\n\s+/g, '').split('\n');
  const code = lines.flatMap((line) =>
    line.startsWith('    ') ? line : [...line.matchAll(/`([^`]+)`/g)].map(([, own]) => ` ${own}`),
  );
  return code.flatMap((line) => {
    const [, edge = '', rest] = PROGRAM.exec(line) ?? [];
    if (rest === undefined) return [];
    // A remark follows, or words of another program.
    const own = rest.replace(/(?:^|\s)(?:#|\||&&|--\s).*$/, '');
    return [[edge, ...own.split(/\s+/)].filter((word) => word !== '')];
  });
}

/** Lists the words of a command that the program does not know. */
function faultsOf(program: Command, all: readonly string[]): string[] {
  const words = all[0] === '--remote' ? all.slice(2) : all;
  let command = program;
  let at = 0;
  for (; at < words.length; at++) {
    const next = command.commands.find((one) => one.name() === words[at]);
    if (next === undefined) break;
    command = next;
  }
  const [first = '', second = ''] = words;
  if (first === 'help' || /^[^a-z]/.test(first)) return [];
  if (command === program) return [`no command ${first}`];
  const isEdge = first === 'edge' && (second === 'start' || second.startsWith('-'));
  // The words may be those of the group's default command.
  const options = [...command.options, ...command.commands.flatMap((one) => one.options)];
  const known = [...options, ...(isEdge ? edgeCommand().options : [])];
  return words.slice(at).filter((word) => {
    const [option] = /^--?[a-z][a-z0-9-]*/i.exec(word) ?? [];
    return (
      option !== undefined && !known.some(({ long, short }) => option === long || option === short)
    );
  });
}

describe('links of documents', () => {
  /** Anchors that GitHub derives from headings, and explicit ones. */
  const anchors = (text: string) => [
    ...[...text.matchAll(/^#+ (.*)$/gm)].map(([, title]) =>
      (title as string)
        .toLowerCase()
        .replace(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    ),
    ...[...text.matchAll(/<a id="([^"]+)">/g)].map(([, id]) => id),
  ];

  test.each(PATHS)('%s links only to files and headings that exist', (path) => {
    const text = readFileSync(documentUrl(path), 'utf8');
    const broken = [...text.matchAll(/\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)/g)].filter(
      ([, file = '', anchor]) => {
        const target = file === '' ? documentUrl(path) : new URL(file, documentUrl(path));
        if (!existsSync(target)) return true;
        return anchor !== undefined && !anchors(readFileSync(target, 'utf8')).includes(anchor);
      },
    );
    expect(broken.map(([link]) => link)).toEqual([]);
  });

  test('README.md is short', () => {
    const lines = readFileSync(documentUrl('README.md'), 'utf8').split('\n');
    expect(lines.length).toBeLessThanOrEqual(161);
  });
});
