import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { MillraceError } from '@millrace/shared/base/errors';
import { formatEntry, formatHeader } from '@millrace/shared/download/journal/journal';
import { serveHttp } from '@millrace/shared/node/testing/http-server';
import { FakeDaemon, type FakeRun, LENGTH, T0, until } from '../../testing/fake-daemon.ts';
import { DATA_SUFFIX, JOURNAL_SUFFIX } from '../files/partial-names.ts';
import { setResolver } from '../resolvers/resolver-list.ts';
import { Resolvers } from '../resolvers/resolvers.ts';
import { proveLink } from '../sources/link-proof.ts';
import { probeLinks } from './probes.ts';
import type { AskedDownload } from './resolved-links.ts';

const RIGHT = Buffer.from(Array.from({ length: LENGTH }, (_, i) => (i * 7 + (i >> 3)) % 251));
const WRONG = Buffer.from(RIGHT).fill(9, 300, 301);
/** Bytes that a failed run leaves. */
const HELD = 400;

const server = serveHttp((request, response) => {
  const { searchParams } = new URL(request.url ?? '', 'http://a');
  const body = searchParams.get('kind') === 'wrong' ? WRONG : RIGHT;
  const [, start = 0, last = body.length - 1] =
    /bytes=(\d+)-(\d+)/.exec(request.headers.range ?? '')?.map(Number) ?? [];
  const end = Math.min(body.length, last + 1);
  const range = `bytes ${start}-${end - 1}/${body.length}`;
  response.writeHead(206, { etag: '"a"', 'content-range': range }).end(body.subarray(start, end));
});

let state: string;
let daemon: FakeDaemon;

beforeEach(async () => {
  state = mkdtempSync(join(tmpdir(), 'millrace-resolvers-'));
  daemon = new FakeDaemon(
    (request, begun, signal) =>
      proveLink(request, begun, () => 0.5, signal ?? new AbortController().signal),
    () => new Resolvers(state),
  );
  // Prints the next of the lines that the test has written, and the last one for ever.
  const path = join(state, 'resolver');
  const text = `#!/bin/sh
cd '${state}'
echo >> asked
test $(wc -l < answers) -le $(wc -l < asked) || { sed -n "$(wc -l < asked)p" answers; exit; }
tail -n 1 answers
`;
  writeFileSync(path, text);
  chmodSync(path, 0o755);
  const usual = { seconds: 30, prints: 'answer' } as const;
  await setResolver(state, { name: 'own', args: [path], patterns: ['127.0.0.1'], ...usual });
});
afterEach(async () => {
  await daemon.remove();
  rmSync(state, { recursive: true });
});

const link = (kind: string) => `${server.url}/${kind}?kind=${kind}`;
const asked = () => readFileSync(join(state, 'asked'), 'utf8').length;

function answers(...lines: object[]): void {
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
  writeFileSync(join(state, 'answers'), text);
}

async function add(given: AskedDownload, isOwn = true): Promise<string> {
  const { resolvedLinks } = daemon.manager;
  const { download, resolved } = await resolvedLinks.find(given, isOwn);
  const { gid } = daemon.manager.add(download);
  resolvedLinks.keep(gid, resolved);
  return gid;
}

const runs = async (count: number): Promise<FakeRun> => {
  await until(() => daemon.runs.length === count);
  return daemon.runs.at(-1) as FakeRun;
};

/** Adds a page, and lets its run fail after some bytes because the link has expired. */
async function expired(more: Partial<AskedDownload> = {}): Promise<string> {
  const gid = await add({ urls: [`${server.url}/page`], ...more });
  const run = await runs(1);
  await until(() => daemon.manager.get(gid).path !== undefined);
  run.storedBytes = HELD;
  writeFileSync(run.path + DATA_SUFFIX, RIGHT.subarray(0, HELD));
  const header = { url: run.request.urls[0] as string, length: LENGTH, validators: {} };
  const entry = { range: { start: 0, end: HELD }, digest: '0'.repeat(16) };
  writeFileSync(run.path + JOURNAL_SUFFIX, formatHeader(header) + formatEntry(entry));
  await run.fail(new MillraceError('origin-denied'));
  return gid;
}

describe('a page that a resolver knows', () => {
  test('becomes a download of its file, with name, length, fields and category of that', async () => {
    const headers = { Referer: `${server.url}/page` };
    answers({ urls: [link('first')], name: 'a.zip', length: LENGTH, headers });
    const gid = await add({ urls: [`${server.url}/page`], headers: { cookie: 'mine=1' } });
    const { request } = await runs(1);
    expect(request).toMatchObject({
      urls: [link('first')],
      file: 'a.zip',
      length: LENGTH,
      headers: { referer: `${server.url}/page`, cookie: 'mine=1' },
    });
    expect(daemon.manager.get(gid)).toMatchObject({
      category: 'archives',
      options: { resolved: { by: 'own', url: `${server.url}/page` } },
    });
  });

  test('is taken as it is for callers of other machines, and with no resolver wanted', async () => {
    answers({ urls: [link('first')] });
    await add({ urls: [`${server.url}/page`] }, false);
    await add({ urls: [`${server.url}/page`], resolver: false });
    await runs(2);
    expect(daemon.runs.map(({ request }) => request.urls)).toEqual([
      [`${server.url}/page`],
      [`${server.url}/page`],
    ]);
  });

  test('is looked at before it is added, with the resolver’s name and words', async () => {
    answers({ urls: [link('first')], name: 'a.zip', note: '360p' });
    const pages = [{ urls: [`${server.url}/page`] }];
    const own = await probeLinks(daemon.manager, pages, { isOwn: true });
    expect(own).toMatchObject([{ resolver: 'own', said: '360p', name: 'a.zip', length: LENGTH }]);
    answers({ error: 'it is private' });
    const other = await probeLinks(daemon.manager, [{ urls: [`${server.url}/p`] }], {
      isOwn: true,
    });
    expect(other).toMatchObject([{ problem: 'resolver-refused', said: 'own: it is private' }]);
  });
});

describe('a link that a resolver had found and that has expired', () => {
  test('is found anew, and the download continues with it', async () => {
    answers({ urls: [link('first')], name: 'a.bin' }, { urls: [link('second')], name: 'b.bin' });
    const gid = await expired();
    const { request } = await runs(2);
    expect(request).toMatchObject({ urls: [link('second')], file: 'a.bin' });
    expect(daemon.manager.get(gid)).toMatchObject({ state: 'active', name: 'a.bin' });
    const { resolved } = daemon.manager.get(gid).options;
    expect(resolved).toMatchObject({ asked: 1, storedBytes: HELD });
    expect(resolved).not.toHaveProperty('stale');
    const { log } = daemon.downloadLogs.downloadLog(gid);
    expect(JSON.stringify(log)).toMatch(/resolves-again.*link-renewed/);
  });

  test.each([
    ['other bytes', { urls: ['wrong'] }],
    ['another length', { urls: ['second'], length: LENGTH + 1 }],
  ])('is not replaced by one of a file with %s: what is stored stays', async (_what, other) => {
    const second = { ...other, urls: other.urls.map(link) };
    answers({ urls: [link('first')], name: 'a.bin' }, second);
    const gid = await expired();
    await until(() => daemon.manager.get(gid).state === 'error');
    expect(daemon.manager.get(gid)).toMatchObject({
      error: { code: 'different-file' },
      storedBytes: HELD,
      request: { urls: [link('first')] },
    });
    expect(daemon.runs).toHaveLength(1);
    // The user tries again: the resolver is asked first.
    daemon.manager.line.retry(gid);
    await until(() => asked() === 3);
  });

  test('is asked for again a few times only, and anew when the user tries again', async () => {
    answers({ urls: [link('first')], name: 'a.bin' });
    const gid = await expired();
    for (const count of [2, 3]) await (await runs(count)).fail(new MillraceError('origin-denied'));
    await until(() => daemon.manager.get(gid).state === 'error');
    expect(daemon.manager.get(gid).error?.code).toBe('origin-denied');
    expect(asked()).toBe(3);
    daemon.manager.line.retry(gid);
    await runs(4);
    expect(asked()).toBe(4);
  });

  test('is found anew before the run if the answer had said when it expires, also after a restart', async () => {
    const first = { urls: [link('first')], name: 'a.bin', expires: T0 / 1000 + 60 };
    answers(first, { urls: [link('second')] });
    const gid = await add({ urls: [`${server.url}/page`], paused: true });
    await daemon.shut();
    daemon.now = T0 + 60_000;
    daemon.open();
    daemon.manager.line.resume(gid);
    expect((await runs(1)).request.urls).toEqual([link('second')]);
    expect(asked()).toBe(2);
  });

  test('is the user’s own once they have given another one', async () => {
    answers({ urls: [link('first')], name: 'a.bin' });
    const gid = await add({ urls: [`${server.url}/page`], paused: true });
    daemon.manager.changes.replaceUrl(gid, link('mine'));
    expect(daemon.manager.get(gid).options.resolved).toBeUndefined();
  });

  test('is asked about later if the resolver fails: the download waits', async () => {
    answers({ urls: [link('first')], name: 'a.bin' }, { urls: [] });
    const gid = await expired();
    await until(() => daemon.manager.get(gid).state === 'waiting');
    expect(daemon.manager.get(gid)).toMatchObject({ error: { code: 'resolver-failed' } });
  });

  test('is not asked about any more once the download is paused', async () => {
    answers({ urls: [link('first')], name: 'a.bin' });
    const gid = await add({ urls: [`${server.url}/page`] });
    const run = await runs(1);
    daemon.manager.listen((event) => {
      if (event.kind === 'note' && event.note === 'resolves-again') daemon.manager.line.pause(gid);
    });
    await run.fail(new MillraceError('origin-gone'));
    await until(() => daemon.manager.get(gid).state === 'paused');
    expect(daemon.runs).toHaveLength(1);
  });
});
