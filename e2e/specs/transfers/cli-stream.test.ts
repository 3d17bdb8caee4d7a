/** `millrace stream` as users and their players run it. */

import { once } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { fetchAll, openResponse, readAll } from '../../fixtures/clients/http-client.ts';
import { sha256 } from '../../fixtures/origins/content.ts';
import { runCli } from '../../fixtures/programs/processes.ts';
import { Streams } from '../../fixtures/programs/streams.ts';
import { until } from '../../fixtures/until.ts';

const MB = 1_000_000;
const SIZE = 6 * MB;

const streams = await Streams.start();
const { origin } = streams;

beforeEach(() => streams.begin());
afterEach(() => streams.end());
afterAll(() => streams.stop());

const path = (name: string) => join(streams.dir, name);
const gated = () => streams.gated(SIZE);

describe('a stream', () => {
  test('gives players any part of the file, and the file is kept', async () => {
    const url = origin.url('none', { size: SIZE, name: 'film.mkv' });
    const { url: address, child, result } = await streams.open(url);
    expect(address).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/[\w-]{32}\/film\.mkv$/);
    const content = origin.content(url);
    const head = await fetchAll(address, { method: 'HEAD' });
    expect(head.headers).toMatchObject({
      'content-length': String(SIZE),
      'content-type': 'video/matroska',
      'accept-ranges': 'bytes',
    });
    // Players ask for the beginning, the index at the end, and then the rest from the middle.
    const ranges = [
      ['bytes=0-', 0, SIZE],
      ['bytes=-1000', SIZE - 1000, SIZE],
      ['bytes=3000000-', 3 * MB, SIZE],
    ] as const;
    const parts = await Promise.all(
      ranges.map(([range]) => fetchAll(address, { headers: { range } })),
    );
    for (const [i, [, start, end]] of ranges.entries()) {
      expect(parts[i]).toMatchObject({ status: 206, complete: true });
      expect(parts[i]?.digest).toBe(sha256(content.subarray(start, end)));
    }
    expect((await fetchAll(address, { headers: { range: `bytes=${SIZE}-` } })).status).toBe(416);
    await until(async () => (await readdir(streams.dir)).join() === 'film.mkv');
    // The complete file can be played again.
    expect((await fetchAll(address)).digest).toBe(origin.digest(url));
    child.kill('SIGINT');
    expect((await result).code).toBe(0);
    expect(sha256(await readFile(path('film.mkv')))).toBe(origin.digest(url));
  });

  test('that is interrupted breaks off visibly, and the download can be resumed', async () => {
    const url = gated();
    const { url: address, child, result } = await streams.open(url);
    const response = await openResponse(address);
    const body = fetchedBy(response);
    // Some of the file is on disk, and the origin holds back the rest.
    await until(async () => {
      const journal = await readFile(path('film.mkv.millrace-journal'), 'utf8').catch(() => '');
      return journal.split('\n').length > 2 && origin.waiting > 0;
    });
    child.kill('SIGINT');
    expect((await result).code).toBe(130);
    expect((await body).complete).toBe(false);
    expect(await readdir(streams.dir)).toContain('film.mkv.millrace-part');
    origin.openGate();
    const again = await runCli(['get', url, '-d', streams.dir, '--json']);
    expect(again.code).toBe(0);
    const start = again.stdout.split('\n').find((line) => line.includes('"event":"start"'));
    expect(JSON.parse(start as string).resumedBytes).toBeGreaterThan(0);
    expect(sha256(await readFile(path('film.mkv')))).toBe(origin.digest(url));
  });

  test('of a file that changes meanwhile breaks off, and then gives the new version', async () => {
    const url = origin.url('changed-at-gate', { size: SIZE, name: 'film.mkv' });
    const { url: address, result, child } = await streams.open(url);
    // The player has bytes of the old version when the file changes.
    const response = await openResponse(address);
    await once(response, 'readable');
    const body = readAll(response);
    origin.openGate();
    const { complete, body: old } = await body;
    expect(complete).toBe(false);
    expect(old.equals(origin.content(url).subarray(0, old.length))).toBe(true);
    await until(async () => (await readdir(streams.dir)).join() === 'film.mkv');
    expect((await fetchAll(address)).digest).toBe(origin.digest(url, 2));
    child.kill('SIGINT');
    expect((await result).code).toBe(0);
  });

  test('of a file that cannot be fetched says why', async () => {
    const run = await runCli(['stream', origin.url('gone'), '-d', streams.dir]);
    expect(run.code).toBe(4);
    expect(run.stderr).toMatch(/The origin has removed the file/);
  });
});

describe('players', () => {
  /** Writes a player that notes the digest of the bytes it gets. @returns its command */
  async function player(): Promise<string> {
    const script = path('player.mjs');
    await writeFile(
      script,
      `import { createHash } from 'node:crypto';
       import { writeFileSync } from 'node:fs';
       const [out, flag, url] = process.argv.slice(2);
       const body = Buffer.from(await (await fetch(url)).arrayBuffer());
       writeFileSync(out, flag + ' ' + createHash('sha256').update(body).digest('hex'));`,
    );
    return `"${process.execPath}" '${script}' "${path('played')}" --flag`;
  }

  test('are started with the address, and the stream ends with them', async () => {
    const url = origin.url('none', { size: SIZE, name: 'film.mkv' });
    const run = await runCli(['stream', url, '-d', streams.dir, '--player', await player()]);
    expect(run).toMatchObject({ code: 0, stderr: '' });
    expect(await readFile(path('played'), 'utf8')).toBe(`--flag ${origin.digest(url)}`);
    expect(sha256(await readFile(path('film.mkv')))).toBe(origin.digest(url));
  });

  /** Writes a player of a name that notes its arguments and what it plays. @returns its path */
  async function named(name: string): Promise<string> {
    const program = path(name);
    await writeFile(
      program,
      `#!${process.execPath}
const { createHash } = require('node:crypto');
const { readFileSync, statSync, writeFileSync } = require('node:fs');
const { dirname } = require('node:path');
const last = process.argv.at(-1);
const url = last.startsWith('http:') ? last : readFileSync(last, 'utf8').split('\\n')[1];
const modes = url === last ? [] : [last, dirname(last)].map((one) => statSync(one).mode & 0o777);
// As other users of the machine see it.
const shown = readFileSync('/proc/self/cmdline', 'utf8');
fetch(url).then((answer) => answer.arrayBuffer()).then((body) => {
  const digest = createHash('sha256').update(Buffer.from(body)).digest('hex');
  const told = process.env.MILLRACE_STREAM_URL === url;
  const report = { last, shown: shown.includes(url), told, modes, digest };
  writeFileSync(${JSON.stringify(path('played'))}, JSON.stringify(report));
});
`,
      { mode: 0o755 },
    );
    return program;
  }

  const ADDRESS = expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/[\w-]{32}\/film\.mkv$/);

  test.each([
    ['mpv', '', false],
    ['vlc', '--fullscreen', false],
    ['my-player', '{playlist}', false],
    ['mpv', '{url}', true],
    ['my-player', '', true],
  ])('%s %s: the address is on a command line: %s', async (name, args, shown) => {
    const url = origin.url('none', { size: SIZE, name: 'film.mkv' });
    const player = ['--player', `'${await named(name)}' ${args}`];
    const run = await runCli(['stream', url, '-d', streams.dir, ...player], {
      TMPDIR: streams.dir,
    });
    expect(run).toMatchObject({ code: 0, stderr: '' });
    const played = JSON.parse(await readFile(path('played'), 'utf8'));
    expect(played).toEqual({
      last: shown ? ADDRESS : expect.stringMatching(/\.m3u$/),
      shown,
      told: true,
      modes: shown ? [] : [0o600, 0o700],
      digest: origin.digest(url),
    });
    // The playlist is gone.
    expect((await readdir(streams.dir)).sort()).toEqual(['film.mkv', name, 'played'].sort());
  });

  test('leave nothing behind with --no-keep', async () => {
    const url = origin.url('none', { size: SIZE, name: 'film.mkv' });
    const command = await player();
    await runCli(['stream', url, '--no-keep', '--player', command], { TMPDIR: streams.dir });
    expect(await readFile(path('played'), 'utf8')).toBe(`--flag ${origin.digest(url)}`);
    expect((await readdir(streams.dir)).sort()).toEqual(['played', 'player.mjs']);
  });

  test('that cannot be started are reported', async () => {
    const url = gated();
    const run = await runCli(['stream', url, '-d', streams.dir, '--player', '/no/such/player']);
    expect(run.code).toBe(2);
    expect(run.stderr).toMatch(/\/no\/such\/player cannot be started \(ENOENT\)/);
  });

  test('that are scripts get the address alone with --print-url', async () => {
    const url = origin.url('none', { size: SIZE });
    const printed = await streams.open(url, ['--print-url'], false);
    expect((await fetchAll(printed.url)).digest).toBe(origin.digest(url));
    printed.child.kill('SIGTERM');
    const { stdout } = await printed.result;
    expect(stdout).toBe(`${printed.url}\n`);
  });
});

async function fetchedBy(response: Awaited<ReturnType<typeof openResponse>>) {
  try {
    for await (const _ of response);
    return { complete: response.complete };
  } catch {
    return { complete: false };
  }
}
