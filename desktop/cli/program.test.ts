import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { VERSION } from '@millrace/shared/base/version';
import type { CliContext } from './console/context.ts';
import { buildProgram, everyCommand } from './program.ts';

const MAIN = fileURLToPath(new URL('./main.ts', import.meta.url));
const NOTHING = {} as CliContext; // no command runs
const whole = await buildProgram(NOTHING);

test.each(whole.commands.map((command) => command.name()).filter((name) => name !== '__complete'))(
  '%s has the same help alone as among all commands',
  async (name) => {
    const [alone, ...more] = (await buildProgram(NOTHING, [name, 'x'])).commands;
    expect(more).toHaveLength(0);
    expect(alone?.name()).toBe(name);
    const helps = [alone, whole.commands.find((command) => command.name() === name)].map(
      (command) => everyCommand(command as typeof whole).map((one) => one.helpInformation()),
    );
    expect(helps[0]).toEqual(helps[1]);
  },
);

test.each([[], ['help', 'get'], ['--help'], ['ls'], ['gte'], ['__complete', '--', 'ge']])(
  '%j loads all commands',
  async (...words) => {
    expect((await buildProgram(NOTHING, words)).commands).toHaveLength(whole.commands.length);
  },
);

test.each([
  [['get', 'x', '--proxy', 'gopher://tom:secret@x'], "error: option '--proxy <url>': that is not"],
  [['get', 'x', '--user', ':secret'], "error: option '--user <name:password>': a log-in is"],
  [['get', 'x', '--cookie', "a=' is invalid. secret;"], "error: option '--cookie <name=value>': "],
  [['url', 'a1', 'ftp://tom:secret@x'], 'error: url: that is not'],
  [['info', 'zz'], 'error: id: an id has'],
])('%j is refused without its value, which may be a password', async (words, message) => {
  const program = await buildProgram(NOTHING, words);
  let said = '';
  for (const command of everyCommand(program)) {
    command.configureOutput({
      writeErr: (text) => {
        said += text;
      },
    });
  }
  await expect(program.parseAsync(words, { from: 'user' })).rejects.toThrow();
  expect(said).toContain(message);
  expect(said).not.toContain('secret');
});

test.each(['-h', '--help', '-V', '--version'])('%s is answered by every command', async (word) => {
  const paths = (command: typeof whole, path: string[]): string[][] => [
    path,
    ...command.commands.flatMap((sub) => paths(sub as typeof whole, [...path, sub.name()])),
  ];
  // `edge start` hands its words to the edge, which has its own test.
  const all = paths(whole, []).filter((path) => path.join(' ') !== 'edge start');
  expect(all.length).toBeGreaterThan(40);
  for (const path of all) {
    const program = await buildProgram(NOTHING, path);
    let said = '';
    for (const command of everyCommand(program)) {
      command.configureOutput({
        writeOut: (text) => {
          said += text;
        },
      });
    }
    const ended = program.parseAsync([...path, word], { from: 'user' });
    await expect(ended).rejects.toMatchObject({ exitCode: 0 });
    const isVersion = word === '-V' || word === '--version';
    expect([path, said]).toEqual([
      path,
      isVersion ? `${VERSION}\n` : expect.stringMatching(/^Usage: millrace/),
    ]);
  }
});

test('an ordinary download loads no modules that only special ones need', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-test-'));
  const server = createServer((_request, response) => {
    response.writeHead(200, { etag: '"x"', 'content-length': 5 }).end('right');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const hook = `import { registerHooks } from 'node:module';
    import { writeSync } from 'node:fs';
    // All at once: many small writes fail with EAGAIN while this process has no time to read them.
    const urls = [];
    registerHooks({ load: (url, context, next) => (urls.push(url), next(url, context)) });
    process.on('exit', () => writeSync(2, urls.join('\\n')));`;
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/file`;
  const flags = ['--import', `data:text/javascript,${encodeURIComponent(hook)}`];
  const child = spawn(process.execPath, [...flags, MAIN, 'get', url, '-d', folder]);
  let loaded = '';
  child.stderr.on('data', (text) => {
    loaded += text;
  });
  child.stdout.resume();
  const [code] = await once(child, 'close');
  server.close();
  await rm(folder, { recursive: true });
  expect(code).toBe(0);
  expect(loaded).toContain('/desktop/engine/download/download.ts');
  expect(loaded).not.toMatch(
    /node_modules.*\/(zod|tough-cookie|saxes|string-width|socks|undici|ws)\//,
  );
  expect(loaded).not.toMatch(/desktop\/cli\/commands\/(?!get)/);
});

describe('compiled code', () => {
  /** Runs the program with a state folder, and with a cache that the caller chose, if any. */
  async function run(state: string, cache?: string): Promise<number | null> {
    const { NODE_COMPILE_CACHE: _, ...env } = process.env;
    const chosen = cache === undefined ? {} : { NODE_COMPILE_CACHE: cache };
    const child = spawn(process.execPath, [MAIN, '--version'], {
      env: { ...env, MILLRACE_STATE: state, ...chosen },
      stdio: 'ignore',
    });
    const [code] = await once(child, 'close');
    return code;
  }

  test('is kept in the state folder for the next run', async () => {
    const state = await mkdtemp(join(tmpdir(), 'millrace-test-'));
    expect(await run(state)).toBe(0);
    const kept = await readdir(join(state, 'compile-cache'), { recursive: true });
    expect(kept.length).toBeGreaterThan(100);
    await rm(state, { recursive: true });
  });

  test('is kept in the folder that the environment names, if it names one', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'millrace-test-'));
    expect(await run(join(folder, 'state'), join(folder, 'cache'))).toBe(0);
    expect(await readdir(folder)).toEqual(['cache']);
    await rm(folder, { recursive: true });
  });

  test('is not kept if the state folder cannot be made, and the program works', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'millrace-test-'));
    await writeFile(join(folder, 'file'), '');
    expect(await run(join(folder, 'file'))).toBe(0);
    expect(await readdir(folder)).toEqual(['file']);
    await rm(folder, { recursive: true });
  });
});
