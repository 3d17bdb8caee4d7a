/** Unmodified clients and a real origin: curl and wget through an edge before nginx. */

import { spawnSync } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect } from '@jest/globals';
import { DEFAULT_CHUNK_BYTES } from '@millrace/shared/base/limits';
import { fetchAll } from '../../fixtures/clients/http-client.ts';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { Nginx, nginxOrComplain } from '../../fixtures/origins/nginx.ts';
import { EdgeProcess, runCli, temporaryFolder } from '../../fixtures/programs/processes.ts';
import { testsWhere } from '../../fixtures/tests-where.ts';

const { afterAll, beforeAll, describe, test } = testsWhere(
  nginxOrComplain('a real origin, real clients'),
);
const NAMES = ['plain.iso', 'with space, and comma.iso', 'caf\u00e9 \u20ac 100%.iso'];
const BYTES = 5_000_000;
/** File that is stored compressed, and is sent so to everybody, in ranges too. */
const STORED = 'stored.bin';
/** Folders with a list of their files: one is a file itself, the server makes the other. */
const LISTS = ['page', 'list'];

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let nginx: Nginx;
let edge: EdgeProcess;

beforeAll(async () => {
  folder = await temporaryFolder();
  await mkdir(join(folder.path, 'www'));
  for (const name of NAMES) {
    await writeFile(join(folder.path, 'www', name), contentOf(name, BYTES));
  }
  for (const list of LISTS) {
    await mkdir(join(folder.path, 'www', list));
    await writeFile(join(folder.path, 'www', list, 'a.bin'), contentOf(list, 1000));
  }
  await writeFile(join(folder.path, 'www', 'page', 'index.html'), '<a href="a.bin">a.bin</a>');
  await writeFile(join(folder.path, 'www', STORED), gzipSync(contentOf(STORED, BYTES)));
  nginx = await Nginx.start({
    dir: join(folder.path, 'nginx'),
    root: join(folder.path, 'www'),
    server: `autoindex on; expires 1h; location = /moved { return 302 /page/a.bin; }
      location = /${STORED} { add_header Content-Encoding gzip; }`,
  });
  edge = await EdgeProcess.start(['--allow-origin', '127.0.0.1']);
});

afterAll(async () => {
  await edge?.stop();
  await nginx?.stop();
  await folder?.remove();
});

function run(command: string, args: string[]) {
  return spawnSync(command, args, { cwd: folder.path, encoding: 'utf8' });
}

describe('curl', () => {
  for (const name of NAMES) {
    test(`fetches "${name}", encoded and as it is typed`, async () => {
      for (const written of [
        encodeURIComponent(name),
        name.replaceAll(' ', '%20').replace('%.', '%25.'),
      ]) {
        const out = run('curl', ['-sS', '-o', 'out', edge.prefixed(`${nginx.url}/${written}`)]);
        expect(out.stderr).toBe('');
        expect(sha256(await readFile(join(folder.path, 'out')))).toBe(
          sha256(contentOf(name, BYTES)),
        );
      }
    });
  }

  test('resumes a download', async () => {
    const content = contentOf('plain.iso', BYTES);
    await writeFile(join(folder.path, 'half'), content.subarray(0, 2_345_678));
    run('curl', ['-sS', '-C', '-', '-o', 'half', edge.prefixed(`${nginx.url}/plain.iso`)]);
    expect(sha256(await readFile(join(folder.path, 'half')))).toBe(sha256(content));
  });
});

describe('wget', () => {
  test('fetches and resumes', async () => {
    const content = contentOf('plain.iso', BYTES);
    await writeFile(join(folder.path, 'plain.iso'), content.subarray(0, 1_000_001));
    const out = run('wget', ['-q', '-c', edge.prefixed(`${nginx.url}/plain.iso`)]);
    expect(out.error ?? out.status).toBe(0);
    expect(sha256(await readFile(join(folder.path, 'plain.iso')))).toBe(sha256(content));
  });
});

describe('links of a page whose address the origin completes with a slash', () => {
  for (const list of LISTS) {
    test(`lead wget to the files of the ${list}`, async () => {
      const at = edge.prefixed(`${nginx.url}/${list}`);
      const args = ['-q', '-r', '-l1', '-nd', '-np', '-P', `from-${list}`, '-A', '*.bin', at];
      expect(run('wget', args).status).toBe(0);
      const saved = await readFile(join(folder.path, `from-${list}`, 'a.bin'));
      expect(sha256(saved)).toBe(sha256(contentOf(list, 1000)));
    });

    test(`the ${list}: curl gets the redirect, and the page behind it`, () => {
      const at = edge.prefixed(`${nginx.url}/${list}`);
      const says = ['-w', '%{http_code} %{url_effective}'];
      const once = run('curl', ['-sS', '-o', '/dev/null', ...says, at]);
      expect(once.stdout).toBe(`307 ${at}`);
      const followed = run('curl', ['-sSL', '-w', '\n%{url_effective}', at]);
      expect(followed.stdout.split('\n').at(-1)).toBe(`${at}/`);
      expect(followed.stdout).toContain('<a href="a.bin">');
    });
  }

  test('a file behind a redirect has the address that was asked for', async () => {
    const got = await fetchAll(edge.prefixed(`${nginx.url}/moved`));
    expect([got.status, got.digest]).toEqual([200, sha256(contentOf('page', 1000))]);
    const again = await fetchAll(edge.prefixed(`${nginx.url}/moved`));
    expect(again.headers['cache-status']).toContain('; hit;');
  });
});

describe('a file that the origin stores compressed', () => {
  const digest = sha256(contentOf(STORED, BYTES));
  const coded = sha256(gzipSync(contentOf(STORED, BYTES)));
  const saved = async (name: string) => sha256(await readFile(join(folder.path, name)));

  test('comes as it is stored to curl and wget, and decoded where curl is told to', async () => {
    const at = edge.prefixed(`${nginx.url}/${STORED}`);
    expect(run('curl', ['-sS', '-o', 'coded', at]).stderr).toBe('');
    expect(run('curl', ['-sS', '--compressed', '-o', 'decoded', at]).stderr).toBe('');
    expect(run('wget', ['-q', '-O', 'by-wget', at]).status).toBe(0);
    expect([await saved('coded'), await saved('decoded')]).toEqual([coded, digest]);
    expect(await saved('by-wget')).toBe(coded);
  });

  test('is resumed by no client: a range of it brings all of it', async () => {
    const at = edge.prefixed(`${nginx.url}/${STORED}`);
    for (const headers of [{ range: 'bytes=1000-' }, { range: 'bytes=0-9' }]) {
      const got = await fetchAll(at, { headers });
      expect([got.status, got.digest]).toEqual([200, coded]);
      expect(got.headers).toMatchObject({ 'content-encoding': 'gzip', 'accept-ranges': 'none' });
      expect(got.headers.etag).toMatch(/^W\//);
    }
    await writeFile(join(folder.path, 'part'), 'bytes of another coding');
    expect(run('curl', ['-sS', '-C', '-', '-o', 'part', at]).status).not.toBe(0);
    expect(await readFile(join(folder.path, 'part'), 'utf8')).toBe('bytes of another coding');
  });

  test('is decoded by get, whose own URL may be that of the edge', async () => {
    const dir = join(folder.path, 'get-stored');
    await mkdir(dir);
    const url = `${nginx.url}/${STORED}`;
    for (const [name, args] of [
      ['over', [url, '--edge', edge.url]],
      ['at', [edge.prefixed(url)]],
    ] as const) {
      const result = await runCli(['get', ...args, '-d', dir, '-o', name]);
      expect(result.code).toBe(0);
      expect(await saved(join('get-stored', name))).toBe(digest);
    }
  });
});

describe('millrace get', () => {
  test('follows to a page through the edge', async () => {
    const dir = join(folder.path, 'get-page');
    await mkdir(dir);
    const args = ['get', `${nginx.url}/page`, '-d', dir, '-o', 'page.html', '--edge', edge.url];
    expect(await runCli(args)).toMatchObject({ code: 0, stderr: '' });
    expect(await readFile(join(dir, 'page.html'), 'utf8')).toBe('<a href="a.bin">a.bin</a>');
  });

  test('fetches directly and through the edge, with a checksum', async () => {
    const url = `${nginx.url}/${encodeURIComponent(NAMES[1] as string)}`;
    const digest = sha256(contentOf(NAMES[1] as string, BYTES));
    for (const via of [[], ['--edge', edge.url]]) {
      const dir = join(folder.path, `get-${via.length}`);
      await mkdir(dir);
      const result = await runCli([
        'get',
        url,
        '-d',
        dir,
        '--checksum',
        `sha-256=${digest}`,
        ...via,
      ]);
      expect(result).toMatchObject({ code: 0, stderr: '' });
      expect(sha256(await readFile(join(dir, NAMES[1] as string)))).toBe(digest);
    }
  });
});

describe('the origin', () => {
  test('sends each byte of a file once, whatever clients ask of the edge', async () => {
    const name = 'once.bin';
    await writeFile(join(folder.path, 'www', name), contentOf(name, BYTES));
    await nginx.sent();
    const url = edge.prefixed(`${nginx.url}/${name}`);
    const headers = { range: 'bytes=3000000-' };
    const answers = await Promise.all([
      fetchAll(url),
      fetchAll(url, { headers }),
      fetchAll(url),
      fetchAll(url, { method: 'HEAD' }),
      fetchAll(url, { headers: { range: 'bytes=0-9,4000000-4000009' } }),
    ]);
    expect(answers[0].digest).toBe(sha256(contentOf(name, BYTES)));
    expect(answers[2].digest).toBe(answers[0].digest);
    expect(answers[1].body.equals(contentOf(name, BYTES).subarray(3_000_000))).toBe(true);
    // The edge asks a second time for a chunk that comes late.
    const { first, retry } = (await edge.status()).races;
    const { bytes } = await nginx.sent();
    expect(bytes).toBeGreaterThanOrEqual(BYTES);
    expect(bytes).toBeLessThanOrEqual(BYTES + (first + retry) * DEFAULT_CHUNK_BYTES);
  });
});
