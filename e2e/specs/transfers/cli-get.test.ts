/** `millrace get` as users run it. */

import { once } from 'node:events';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import { FaultOrigin } from '../../fixtures/faults/fault-origin.ts';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { EdgeProcess, runCli } from '../../fixtures/programs/processes.ts';
import { GetStage } from '../../fixtures/stages/get-stage.ts';
import { until } from '../../fixtures/until.ts';

const stage = await GetStage.set();
const { origin, edge } = stage;

describe('saving', () => {
  test('uses the name in the URL and the folder given, and leaves nothing else', async () => {
    const url = origin.url('none', { name: 'a%20b%2c.iso' });
    const result = await runCli(['get', url, '-d', stage.folder]);
    expect(result.code).toBe(0);
    expect(await readdir(stage.folder)).toEqual(['a b,.iso']);
    expect(await stage.digestOf('a b,.iso')).toBe(origin.digest(url));
    expect(result.stdout).toMatch(/Saved .*a b,\.iso \(1\.43 MiB in /);
  });

  test('uses a name of the user\u2019s choice', async () => {
    const url = origin.url('none');
    expect((await runCli(['get', url, '-o', stage.path('mine.bin')])).code).toBe(0);
    expect(await stage.digestOf('mine.bin')).toBe(origin.digest(url));
  });

  test('several URLs, one of which fails, saves the others and exits with that failure’s status', async () => {
    const good = ['one', 'two'].map((name) => origin.url('none', { name, seed: name }));
    const bad = origin.url('not-found');
    const result = await runCli([
      'get',
      good[0] as string,
      bad,
      good[1] as string,
      '-d',
      stage.folder,
    ]);
    expect(result.code).toBe(4);
    expect(result.stderr).toMatch(/The origin has no such file/);
    // Not also in a note that the only source is left out.
    // Ports have digits too, and so do speeds.
    const said = `${result.stdout}${result.stderr}`.replaceAll(new URL(bad).host, '');
    expect(said.match(/\b404\b(?!\s?[kMG]?B)/g)).toHaveLength(1);
    expect(await stage.digestOf('one')).toBe(origin.digest(good[0] as string));
    expect(await stage.digestOf('two')).toBe(origin.digest(good[1] as string));
  });

  test('a link without a scheme to a server without TLS: the advice is http://, not OpenSSL’s words', async () => {
    const plain = createServer((_request, response) => response.end()).listen(0, '127.0.0.1');
    await once(plain, 'listening');
    const answers = `127.0.0.1:${(plain.address() as AddressInfo).port}/file.bin`;
    const resets = origin.url('none', { size: 1000 }).replace('http://', '');
    const failures = [
      [answers, /does not speak TLS at this port\.\n.*begin the link with http:\/\//],
      // Such a server ends the connection, as one that has crashed does.
      [resets, /The connection broke/],
    ] as const;
    for (const [link, words] of failures) {
      const result = await runCli(['get', link, '-d', stage.folder, '--retry-for', '100ms']);
      expect(result.code).toBe(3);
      expect(result.stderr).toMatch(words);
      expect(result.stderr).toContain(`https:// was assumed.`);
      expect(result.stderr).toContain(`millrace get http://${link}\n`);
      expect(result.stdout + result.stderr).not.toMatch(/SSL|EPROTO|wrong version/);
    }
    plain.close();
    const https = `https://${answers}`;
    const named = await runCli(['get', https, '-d', stage.folder, '--retry-for', '100ms']);
    expect(named.code).toBe(3);
    expect(named.stderr).not.toMatch(/assumed/);
  });

  test('does not touch an existing file unless told to', async () => {
    const url = origin.url('none');
    await writeFile(stage.path('file.bin'), 'mine');
    const refused = await runCli(['get', url, '-d', stage.folder]);
    expect(refused.code).toBe(6);
    expect(refused.stderr).toMatch(/There is a file of this name already[\s\S]*--overwrite/);
    expect(await readFile(stage.path('file.bin'), 'utf8')).toBe('mine');
    expect((await runCli(['get', url, '-d', stage.folder, '--overwrite'])).code).toBe(0);
    expect(await stage.digestOf('file.bin')).toBe(origin.digest(url));
  });

  test('makes the folder that the user names, and only for a file that there is', async () => {
    const folder = stage.path('new/deep');
    const url = origin.url('none', { name: 'made.bin' });
    expect((await runCli(['get', origin.url('not-found'), '-d', folder])).code).toBe(4);
    expect(await readdir(stage.folder)).toEqual([]);
    expect((await runCli(['get', url, '-d', folder])).code).toBe(0);
    expect(await stage.digestOf('new/deep/made.bin')).toBe(origin.digest(url));
    await writeFile(stage.path('file'), '');
    const blocked = await runCli(['get', url, '-d', stage.path('file/in-it')]);
    expect(blocked.code).toBe(6);
    expect(blocked.stderr).toMatch(/cannot be written: .*ENOTDIR/);
  });

  test('at once refuses a second run for the same file, and the first one completes', async () => {
    const url = origin.url('gate', { size: 4_000_000 });
    const first = await stage.partly(url, []);
    const second = await runCli(['get', origin.url('none'), '-d', stage.folder]);
    expect(second.code).toBe(6);
    expect(second.stderr).toMatch(/Another download writes to the same file/);
    origin.openGate();
    expect((await first.result).code).toBe(0);
    expect(await stage.digestOf('file.bin')).toBe(origin.digest(url));
  });
});

describe('names from servers', () => {
  test.each([
    ['attachment; filename="../../evil.sh"', 'evil.sh'],
    ['attachment; filename="/etc/passwd"', 'passwd'],
    ['attachment; filename="C:\\\\Windows\\\\x.exe"', 'x.exe'],
    ['attachment; filename=".bashrc"', 'bashrc'],
    ["attachment; filename*=UTF-8''caf%C3%A9%2F..%2Fx.iso", 'x.iso'],
    ['attachment; filename="con.txt"', '_con.txt'],
    ['attachment; filename=""', 'path.bin'],
    ['attachment; filename="unterminated', 'path.bin'],
    ['attachment; filename="invoice\u202efdp.exe"', null],
  ])('%s never leaves the folder', async (disposition, expected) => {
    const body = contentOf('named', 1000);
    const server = createServer((_req, res) => {
      res.setHeader('content-disposition', Buffer.from(disposition).toString('latin1'));
      res.end(body);
    }).listen(0, '127.0.0.1');
    await until(() => server.listening);
    const { port } = server.address() as AddressInfo;
    await mkdir(stage.path('target'));
    const url = `http://127.0.0.1:${port}/path.bin`;
    const result = await runCli(['get', url, '-d', stage.path('target')]);
    server.close();
    expect(result.code).toBe(0);
    const names = await readdir(stage.path('target'));
    expect(names).toHaveLength(1);
    if (expected !== null) expect(names).toEqual([expected]);
    expect(names[0]).not.toMatch(/\u202e/);
    expect(await readdir(stage.folder)).toEqual(['target']);
    expect(await stage.digestOf(`target/${names[0]}`)).toBe(sha256(body));
  });
});

test('wrong ranges are found by the user’s digest, and the file is fetched again as a whole', async () => {
  const url = origin.url('ranges-lie', { size: 2_500_000, seed: 'lies' });
  const digest = origin.digest(url);
  const result = await runCli(['get', url, '-d', stage.folder, '--checksum', `sha-256=${digest}`]);
  expect(result).toMatchObject({ code: 0, stdout: expect.stringContaining('whole file') });
  expect(await stage.digestOf('file.bin')).toBe(digest);
});

describe('checksums', () => {
  test('a right one is silent, a wrong one leaves nothing under the final name', async () => {
    const url = origin.url('none');
    const right = ['--checksum', `SHA-256=${origin.digest(url).toUpperCase()}`];
    expect((await runCli(['get', url, '-o', stage.path('right'), ...right])).code).toBe(0);
    const wrong = ['--checksum', `sha-256=${'0'.repeat(64)}`];
    const result = await runCli(['get', url, '-o', stage.path('wrong'), ...wrong]);
    expect(result.code).toBe(5);
    expect(result.stderr).toMatch(new RegExp(origin.digest(url)));
    expect(await readdir(stage.folder)).toEqual(['right']);
  });

  test.each(['sha-256=12', 'crc=1', 'sha-256'])('"%s" is refused', async (checksum) => {
    const result = await runCli(['get', origin.url('none'), '--checksum', checksum]);
    expect(result.code).toBe(2);
  });
});

describe('edges', () => {
  const nowhere = 'http://127.0.0.1:9';

  test('one that cannot be reached gives way to the next, and in the end to the origin', async () => {
    const url = origin.url('none', { seed: 'fallback' });
    const viaNext = await runCli([
      'get',
      url,
      '-o',
      stage.path('a'),
      '--edge',
      nowhere,
      '--edge',
      edge.url,
      '--edges-only',
    ]);
    expect(viaNext.code).toBe(0);
    expect(viaNext.stdout).toContain(`via ${edge.url}`);
    const direct = await runCli(['get', url, '-o', stage.path('b'), '--edge', nowhere]);
    expect(direct.code).toBe(0);
    expect(await stage.digestOf('a')).toBe(origin.digest(url));
    expect(await stage.digestOf('b')).toBe(origin.digest(url));
  });

  test('--edges-only never asks the origin', async () => {
    const options = ['--edge', nowhere, '--edges-only', '--retry-for', '1s'];
    const result = await runCli(['get', origin.url('none'), '-o', stage.path('x'), ...options]);
    expect(result.code).toBe(3);
    expect(origin.requests).toHaveLength(0);
  });

  test('one that does not serve the origin says so, and the download is direct', async () => {
    const picky = await EdgeProcess.start(['--allow-origin', 'example.com']);
    const url = origin.url('none');
    const result = await runCli(['get', url, '-o', stage.path('x'), '--edge', picky.url]);
    await picky.stop();
    expect(result.code).toBe(0);
    expect(result.stdout).toMatch(/does not serve that origin/);
  });

  test('header fields go to the origin, never to an edge', async () => {
    const url = origin.url('none');
    const options = ['--edge', edge.url, '--header', 'X-Secret: 42'];
    const result = await runCli(['get', url, '-o', stage.path('x'), ...options]);
    expect(result.code).toBe(0);
    expect(result.stdout).toMatch(/downloading directly/);
    expect(origin.requests.every((r) => r.headers['x-secret'] === '42')).toBe(true);
    expect(origin.requests.every((r) => r.headers.via === undefined)).toBe(true);
  });

  test('header fields do not follow a redirect to another host', async () => {
    const other = await FaultOrigin.start();
    const target = other.url('none');
    const server = createServer((_req, res) => {
      res.writeHead(302, { location: target }).end();
    }).listen(0, '127.0.0.1');
    await until(() => server.listening);
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/x`;
    const header = ['--header', 'Authorization: Bearer secret'];
    const result = await runCli(['get', url, '-o', stage.path('x'), ...header]);
    server.close();
    expect(result.code).toBe(0);
    expect(other.requests.length).toBeGreaterThan(0);
    expect(other.requests.every((r) => r.headers.authorization === undefined)).toBe(true);
    await other.stop();
  });
});

describe('output', () => {
  test('--json prints one object per line, from start to done', async () => {
    const url = origin.url('none');
    const { stdout } = await runCli(['get', url, '-d', stage.folder, '--json']);
    const events = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(events[0]).toMatchObject({ event: 'start', url, length: 1_500_000, resumedBytes: 0 });
    expect(events.at(-1)).toMatchObject({ event: 'done', bytes: 1_500_000 });
    const failed = await runCli(['get', origin.url('gone'), '-d', stage.folder, '--json']);
    expect(JSON.parse(failed.stdout.trim().split('\n').at(-1) as string)).toMatchObject({
      event: 'error',
      code: 'origin-gone',
      exit: 4,
    });
  });

  test('--quiet prints nothing if all goes well', async () => {
    const result = await runCli(['get', origin.url('none'), '-d', stage.folder, '--quiet']);
    expect(result).toMatchObject({ code: 0, stdout: '', stderr: '' });
  });

  test('unknown options and commands are refused, and the nearest one is suggested', async () => {
    const option = await runCli(['get', '--conections', '3', 'http://x/']);
    expect(option).toMatchObject({ code: 2 });
    expect(option.stderr).toMatch(/--connections/);
    const command = await runCli(['gte', 'http://x/']);
    expect(command).toMatchObject({ code: 2 });
    expect(command.stderr).toMatch(/get/);
  });
});

describe('limits', () => {
  test('a disk without room for the file is noticed before the file is fetched', async () => {
    const server = createServer((req, res) => {
      expect(req.headers.range).toBe('bytes=0-');
      res.writeHead(206, {
        etag: '"huge"',
        'content-range': 'bytes 0-8999999999999999/9000000000000000',
        'content-length': '9000000000000000',
      });
      res.write(Buffer.alloc(64 * 1024));
    }).listen(0, '127.0.0.1');
    await until(() => server.listening);
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/huge`;
    const result = await runCli(['get', url, '-d', stage.folder]);
    server.close();
    expect(result.code).toBe(6);
    expect(result.stderr).toMatch(/no room[\s\S]*Free some space/);
  });

  test('an empty file is saved', async () => {
    expect((await runCli(['get', origin.url('empty'), '-d', stage.folder])).code).toBe(0);
    expect((await stat(stage.path('file.bin'))).size).toBe(0);
  });
});
