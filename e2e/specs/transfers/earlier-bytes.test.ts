/**
 * Bytes of an earlier run, with sources that cannot show which version they send and whose answers
 * change.
 */

import { once } from 'node:events';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { runCli, temporaryFolder } from '../../fixtures/programs/processes.ts';

const BODY = contentOf('earlier bytes', 3_000_000);
const PAGE = Buffer.from('<!doctype html><title>Log in</title>');

type Answer = (req: IncomingMessage, res: ServerResponse, count: number) => void;

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let answer: Answer = (_req, res) => void res.writeHead(500).end();
let count = 0;
const server = createServer((req, res) => answer(req, res, ++count));

beforeAll(async () => {
  folder = await temporaryFolder();
  await once(server.listen(0, '127.0.0.1'), 'listening');
});
afterAll(async () => {
  server.closeAllConnections();
  await once(server.close(), 'close');
  await folder.remove();
});

/** Sends a part, whole or broken off, without a validator that would tell its version. */
function sendPart(req: IncomingMessage, res: ServerResponse, breaks: boolean): void {
  const [, from = '0', to = ''] = /bytes=(\d+)-(\d*)/.exec(req.headers.range ?? '') ?? [];
  const start = Number(from);
  const end = Math.min(BODY.length, to === '' ? BODY.length : Number(to) + 1);
  res.writeHead(206, {
    'content-range': `bytes ${start}-${end - 1}/${BODY.length}`,
    'content-length': end - start,
  });
  if (!breaks) return void res.end(BODY.subarray(start, end));
  res.write(BODY.subarray(start, (start + end) >> 1), () => res.destroy());
}

const part: Answer = (req, res) => sendPart(req, res, false);
const brokenOff: Answer = (req, res) => sendPart(req, res, true);
const whole: Answer = (_req, res) => {
  res.writeHead(200, { 'content-length': BODY.length }).end(BODY);
};
const page: Answer = (_req, res) => {
  res.writeHead(200, { 'content-type': 'text/html', 'content-length': PAGE.length }).end(PAGE);
};
/** Sends a part of a version that has an entity tag. */
const first: Answer = (req, res, n) => {
  res.setHeader('etag', '"a"');
  part(req, res, n);
};
const gone: Answer = (_req, res) => void res.writeHead(410).end();

async function get(name: string, answers: Answer, options: readonly string[] = []) {
  answer = answers;
  count = 0;
  const dir = join(folder.path, name);
  await mkdir(dir, { recursive: true });
  const result = await runCli(['get', url('file.bin'), ...options, '-d', dir, '--json']);
  return { ...result, dir };
}

function url(name: string): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/${name}`;
}

/** Returns whether a request is for the mirror, which is another path of the one server. */
const isMirror = (req: IncomingMessage) => req.url === '/mirror.bin';
const mirrors = () => ['--mirror', url('mirror.bin'), '--retry-for', '20s'];

/** Runs a download that leaves a partial file. */
async function begin(name: string): Promise<void> {
  const first = await get(name, (req, res, n) => (n === 1 ? brokenOff : gone)(req, res, n));
  expect(first.code).not.toBe(0);
  expect(await readdir(first.dir)).toContain('file.bin.millrace-part');
}

const digestIn = async (dir: string) => sha256(await readFile(join(dir, 'file.bin')));

test('a source that sends the whole file instead of a part has it fetched anew', async () => {
  await begin('whole');
  const { code, dir } = await get('whole', (req, res, n) => (n === 1 ? part : whole)(req, res, n));
  expect(code).toBe(0);
  expect(await digestIn(dir)).toBe(sha256(BODY));
});

test('a web page instead of a part costs none of the earlier bytes', async () => {
  await begin('page');
  const denied = await get('page', (req, res, n) => (n === 1 ? part : page)(req, res, n));
  expect(denied.code).toBe(4);
  expect(denied.stdout + denied.stderr).toContain('a web page came in place of the file');
  const { code, dir, stdout } = await get('page', part);
  expect(code).toBe(0);
  expect(await digestIn(dir)).toBe(sha256(BODY));
  expect(stdout).toMatch(/"resumedBytes":[1-9]/);
});

test('a comparison with earlier bytes that breaks off is made again', async () => {
  await begin('broken-off');
  const { code, dir, stdout } = await get('broken-off', (req, res, n) =>
    (n === 2 ? brokenOff : part)(req, res, n),
  );
  expect(code).toBe(0);
  expect(await digestIn(dir)).toBe(sha256(BODY));
  expect(stdout).toMatch(/"resumedBytes":[1-9]/);
});

test('a source that fails while earlier bytes are compared leaves the download to the others', async () => {
  await begin('left-to-others');
  const { code, dir, stdout } = await get(
    'left-to-others',
    (req, res, n) => {
      // The first answer describes the file, and later ones are for the comparison.
      const good = isMirror(req) || n === 1;
      return (good ? part : gone)(req, res, n);
    },
    mirrors(),
  );
  expect(code).toBe(0);
  expect(await digestIn(dir)).toBe(sha256(BODY));
  expect(stdout).toMatch(/"resumedBytes":[1-9]/);
});

test('sources that send only whole files are asked one after the other', async () => {
  let wholes = 0;
  const { code, dir, stdout } = await get(
    'one-after-the-other',
    (req, res, n) => {
      if (n === 1) {
        // The first answer breaks off: otherwise it would be read to its end.
        res.writeHead(206, {
          etag: '"a"',
          'content-range': `bytes 0-${BODY.length - 1}/${BODY.length}`,
          'content-length': BODY.length,
        });
        return void res.write(BODY.subarray(0, 100_000), () => res.destroy());
      }
      if (isMirror(req)) return whole(req, res, n);
      wholes++;
      res.writeHead(200, { 'content-length': BODY.length });
      res.write(BODY.subarray(0, 1000), () => res.destroy());
    },
    [...mirrors(), '--checksum', `sha-256=${sha256(BODY)}`],
  );
  expect(code).toBe(0);
  expect(await digestIn(dir)).toBe(sha256(BODY));
  expect(wholes).toBeGreaterThan(0);
  expect(stdout).toMatch(/asking the next source/);
});

test('a first source that contradicts itself about the length gives way to those that differ', async () => {
  const { code, dir, stdout } = await get(
    'contradicts',
    (req, res, n) => {
      if (isMirror(req)) return first(req, res, n);
      const [, from = '0', to = ''] = /bytes=(\d+)-(\d*)/.exec(req.headers.range ?? '') ?? [];
      const start = Number(from);
      const bytes = BODY.subarray(start, to === '' ? undefined : Number(to) + 1);
      res.writeHead(206, {
        etag: '"a"',
        'content-range': `bytes ${start}-${start + bytes.length - 1}/${BODY.length + 5}`,
        'content-length': bytes.length,
      });
      res.end(bytes);
    },
    mirrors(),
  );
  expect(code).toBe(0);
  expect(await digestIn(dir)).toBe(sha256(BODY));
  expect(stdout).toContain('first-contradicts');
});
