import { writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { MillraceError } from '@millrace/shared/base/errors';
import { formatEntry, formatHeader } from '@millrace/shared/download/journal/journal';
import { serveHttp } from '@millrace/shared/node/testing/http-server';
import { FakeDaemon, LENGTH, until } from '../../testing/fake-daemon.ts';
import { DATA_SUFFIX, JOURNAL_SUFFIX } from '../files/partial-names.ts';
import { proveLink } from '../sources/link-proof.ts';
import type { NewDownload } from './download-schema.ts';

const RIGHT = Buffer.from(Array.from({ length: LENGTH }, (_, i) => (i * 7 + (i >> 3)) % 251));
const WRONG = Buffer.from(RIGHT).fill(9, 300, 301);
/** Number of bytes that the earlier download holds: the wrong byte is among them. */
const HELD = 400;

/** Fields of each request that the server got. */
const got: Record<string, unknown>[] = [];

/** Serves the right file, a wrong one of its length, one without ranges, and refusals. */
const server = serveHttp((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://a');
  got.push({ url: request.url, ...request.headers });
  const kind = searchParams.get('kind');
  if (kind === 'denied') return response.writeHead(403).end();
  const body = kind === 'wrong' ? WRONG : kind === 'short' ? RIGHT.subarray(1) : RIGHT;
  const range = /bytes=(\d+)-(\d*)/.exec(request.headers.range ?? '');
  if (range === null || kind === 'whole' || pathname === '/') {
    return response.writeHead(200, { 'content-length': body.length }).end(body);
  }
  const [start, last] = [Number(range[1]), Number(range[2] || body.length - 1)];
  const end = Math.min(body.length, last + 1);
  const head = { etag: `"${kind}"`, 'content-range': `bytes ${start}-${end - 1}/${body.length}` };
  return response.writeHead(206, head).end(body.subarray(start, end));
});

let daemon: FakeDaemon;
const link = (kind: string, name = 'a.bin') => `${server.url}/${name}?kind=${kind}`;

beforeEach(() => {
  got.length = 0;
  daemon = new FakeDaemon((request, begun, signal) =>
    proveLink(request, begun, () => 0.5, signal ?? new AbortController().signal),
  );
});
afterEach(() => daemon.remove());

/** Makes a failed download that holds bytes, whose own link leads nowhere any more. */
async function failed(more: Partial<NewDownload> = {}): Promise<string> {
  const { gid, run } = await daemon.run('a', { file: 'a.bin', ...more });
  run.storedBytes = HELD;
  writeFileSync(run.path + DATA_SUFFIX, RIGHT.subarray(0, HELD));
  const header = { url: run.request.urls[0] as string, length: LENGTH, validators: {} };
  const entry = { range: { start: 0, end: HELD }, digest: '0'.repeat(16) };
  writeFileSync(run.path + JOURNAL_SUFFIX, formatHeader(header) + formatEntry(entry));
  await run.fail(new MillraceError('origin-denied'));
  await until(() => daemon.manager.get(gid).state === 'error');
  return gid;
}

async function add(asked: NewDownload) {
  const { renewals } = daemon.manager;
  return renewals.carryOut(asked, await renewals.plan(asked));
}

describe('an added link', () => {
  test('of the same file continues the failed download, with its own fields in place of the old', async () => {
    const headers = { cookie: 'old=1', referer: 'https://old.example/' };
    const gid = await failed({ headers, login: { user: 'old', password: 'old' } });
    const fields = { cookie: 'new=1', referer: 'https://new.example/page' };
    const { record, renewed } = await add({ urls: [link('right')], headers: fields });
    expect({ gid: record.gid, renewed }).toEqual({ gid, renewed: true });
    await until(() => daemon.runs.length === 2);
    const { request } = daemon.runs[1] as { request: object };
    expect(request).toMatchObject({ urls: [link('right')], headers: fields, file: 'a.bin' });
    expect(request).toMatchObject({ login: undefined });
    expect(daemon.manager.unfinished()).toHaveLength(1);
    // The comparison itself has used the new fields.
    expect(got.every(({ cookie }) => cookie === 'new=1')).toBe(true);
  });

  test('that names no file continues a failed download of its host if the bytes are the same', async () => {
    const gid = await failed({ urls: [link('denied', 'dl/1111')] });
    const wrong = await add({ urls: [link('wrong', 'dl/2222')] });
    // No word of the comparison: nothing but the host was alike.
    expect([wrong.renewed, wrong.apart]).toEqual([false, undefined]);
    const right = await add({ urls: [link('right', 'dl/3333')] });
    expect(right).toMatchObject({ renewed: true, record: { gid } });
  });

  test('of a paused download starts it, unless it is to be added paused', async () => {
    const { gid, run } = await daemon.run('a', { file: 'a.bin' });
    run.storedBytes = HELD;
    daemon.manager.line.pause(gid);
    await until(() => daemon.manager.queueRunner.finished(gid) === undefined);
    const paused = await add({ urls: [link('right')], paused: true });
    expect(paused).toMatchObject({ renewed: true, record: { gid, state: 'paused' } });
    expect(await add({ urls: [link('right')] })).toMatchObject({ renewed: true, record: { gid } });
    await until(() => daemon.runs.length === 2);
  });

  test.each([
    ['of another file of one name and length', 'wrong', /has other bytes 0-399/],
    ['of a shorter file', 'short', /999 bytes instead of 1000/],
    ['that sends no parts', 'whole', /sends no parts to compare/],
    ['that fails itself', 'denied', /refuses/],
  ])('%s becomes a second download, and the first one stays', async (_what, kind, why) => {
    const gid = await failed();
    const before = daemon.manager.get(gid);
    const { record, renewed, apart } = await add({ urls: [link(kind)] });
    expect(renewed).toBe(false);
    expect(apart).toMatchObject({ gid, name: 'a.bin', why: expect.stringMatching(why) });
    expect(record.gid).not.toBe(gid);
    expect(daemon.manager.get(gid)).toEqual(before);
    await until(() => daemon.runs.length === 2);
    const { log } = daemon.downloadLogs.downloadLog(record.gid);
    expect(JSON.stringify(log)).toContain('link-apart');
  });

  test.each<[string, Partial<NewDownload>]>([
    ['another name', { urls: ['http://127.0.0.1:1/b.bin'] }],
    ['an id of its own', { gid: '0123456789abcdef' }],
    ['another folder', { dir: '/elsewhere' }],
    ['another length', { length: 999 }],
    ['a start of its own', { startAt: 9e15 }],
    ['the wish to replace a file', { overwrite: true }],
  ])('with %s is added without a question to its server', async (_what, more) => {
    await failed();
    const added = await add({ urls: [link('right')], ...more });
    expect(added.renewed).toBe(false);
    expect(added.apart).toBeUndefined();
    expect(got).toEqual([]);
  });

  test.each([
    [{}],
    [{ urls: 7 }],
    [{ urls: ['ftp://a'] }],
    [{ urls: ['http://a.example/a.bin'], digests: [{}] }],
    [{ urls: ['http://a.example/a.bin'], dir: 7 }],
  ])('that cannot be added, such as %j, is refused as before', async (asked) => {
    await failed();
    const { renewals } = daemon.manager;
    expect(await renewals.plan(asked as NewDownload)).toBeUndefined();
    expect(() => renewals.carryOut(asked as NewDownload, undefined)).toThrow(MillraceError);
  });

  test('given twice at once continues the download once, and adds nothing', async () => {
    const gid = await failed();
    const [one, other] = await Promise.all([
      add({ urls: [link('right')] }),
      add({ urls: [link('right')] }),
    ]);
    expect([one.record.gid, other.record.gid]).toEqual([gid, gid]);
    expect(daemon.manager.unfinished()).toHaveLength(1);
  });

  test('is added if the earlier download goes away during the comparison', async () => {
    const gid = await failed();
    const asked = { urls: [link('right')] };
    const plan = await daemon.manager.renewals.plan(asked);
    expect(plan).toEqual({ kind: 'renews', gid });
    await daemon.manager.remover.remove({
      gids: [gid],
      ...{ forget: true, deletePartial: true, deleteFile: false, now: true },
    });
    expect(daemon.manager.renewals.carryOut(asked, plan)).toMatchObject({ renewed: false });
  });

  test('becomes a second download if the comparison takes too long', async () => {
    const gid = await failed();
    const asked = { urls: [link('right')] };
    const plan = await daemon.manager.renewals.plan(asked, undefined, AbortSignal.abort());
    expect(plan).toMatchObject({ kind: 'apart', gid, why: 'its server took too long' });
  });

  test('of a list continues one download, and the others are added', async () => {
    const gid = await failed();
    const asked = ['a.bin', 'b.bin', 'a.bin'].map((name) => ({ urls: [link('right', name)] }));
    const plans = await daemon.manager.renewals.planAll(asked);
    expect(plans).toEqual([{ kind: 'renews', gid }, undefined, { kind: 'renews', gid }]);
  });
});
