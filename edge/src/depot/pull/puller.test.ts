import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { MillraceError } from '@millrace/shared/base/errors';
import type { Log } from '@millrace/shared/base/log';
import type { Owner } from '@millrace/shared/cdn/depot/owners-file';
import type { PullPart } from '@millrace/shared/cdn/depot/pull-plan';
import type { ClientOrigins } from '../../admission/client-origins.ts';
import { OriginUse } from '../../admission/origin-use.ts';
import { OWNER_PULLS } from '../../admission/resources.ts';
import { OriginClient } from '../../egress/origin-client.ts';
import type { Owners } from '../../policy/depot-owners.ts';
import type { OriginPolicy } from '../../policy/policy.ts';
import type { Allocation } from '../allocation.ts';
import { Depot } from '../depot.ts';
import { Puller } from './puller.ts';

const ALICE: Owner = {
  ...{ name: 'alice', proof: '00', bytes: 1e9, each: 1e9 },
  ...{ forMs: Infinity, count: 100, rate: Infinity },
};
const owners = {
  named: (name: string) => (name === 'alice' ? ALICE : undefined),
  pause: () => 0,
} as unknown as Owners;
const silent = new Proxy({} as Log, { get: () => () => {} });
const CONTENT = Buffer.alloc(300_000, 'the bytes of a file, ');
const SHA256 = createHash('sha256').update(CONTENT).digest('hex');
const failing = (code: string) => expect.objectContaining({ code });

type Handler = (req: IncomingMessage, res: ServerResponse) => void;

let dir = '';
let origin: Server;
let handlers: Map<string, Handler>;
let asked: string[];
let client: OriginClient;
let refusedHosts: Set<string>;
let inNetwork: Set<string>;
let refusals: string[];
let depot: Depot;
let puller: Puller;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'millrace-pull-'));
  [handlers, asked, refusals] = [new Map(), [], []];
  [refusedHosts, inNetwork] = [new Set(), new Set()];
  origin = createServer((req, res) => {
    asked.push(`${req.url} ${req.headers.range} ${req.headers['if-range'] ?? ''}`.trim());
    res.on('error', () => {});
    handlers.get(req.url ?? '')?.(req, res);
  });
  origin.listen(0, '127.0.0.1');
  await once(origin, 'listening');
  client = makeClient(60_000);
  await open();
});

/** Makes a client of origins. @param timeoutMs longest silence of an origin */
function makeClient(timeoutMs: number): OriginClient {
  return new OriginClient({
    policy: {
      own: undefined,
      check(url: URL) {
        if (refusedHosts.has(url.host)) throw new MillraceError('private-address', url.host);
        return true;
      },
    } as unknown as OriginPolicy,
    ...{ name: 'edge', connections: 8, timeoutMs, maxOrigins: 100 },
    clientOrigins: { admit: () => {} } as unknown as ClientOrigins,
    now: () => performance.now(),
  });
}

afterEach(async () => {
  await depot.close();
  await client.close();
  origin.closeAllConnections();
  await once(origin.close(), 'close');
  await rm(dir, { recursive: true, force: true });
});

/** Opens the depot, as a new run of the edge does. */
async function open(): Promise<void> {
  depot = await Depot.open({
    ...{ dir, quotaBytes: 1e9, maxLeaseMs: 1e9, owners, log: silent, wallClock: Date.now },
  });
  puller = new Puller({
    ...{ depot, owners, client, log: silent, wallClock: Date.now },
    policy: { rule: () => ({}), checkAnswer() {} },
    originUse: new OriginUse({ share: 1, wallClock: Date.now }),
    isInNetwork: (url) => inNetwork.has(url.pathname),
    onRefusal: (resource, outcome, who) => void refusals.push(`${resource} ${outcome} ${who}`),
    onBytes() {},
    now: () => performance.now(),
  });
}

/** Serves the content, or what a test makes of it. */
function serve(path: string, change: (answer: Answer) => void = () => {}): string {
  handlers.set(path, (req, res) => {
    const [, first = 0, last = 0] = /^bytes=(\d+)-(\d+)$/.exec(req.headers.range ?? '') ?? [];
    const range = { start: Number(first), end: Number(last) + 1 };
    const answer: Answer = {
      ...{ status: 206, body: CONTENT.subarray(range.start, range.end), range, req, res },
      headers: {
        'content-range': `bytes ${range.start}-${range.end - 1}/${CONTENT.length}`,
        'content-length': String(range.end - range.start),
        etag: '"1"',
      },
    };
    change(answer);
    if (res.headersSent) return;
    res.writeHead(answer.status, answer.headers).write(answer.body);
    if (answer.hangs !== true) res.end();
  });
  return `http://127.0.0.1:${(origin.address() as AddressInfo).port}${path}`;
}

interface Answer {
  status: number;
  headers: Record<string, string>;
  body: Buffer;
  /** True to send no more, and not to end. */
  hangs?: boolean;
  readonly range: { readonly start: number; readonly end: number };
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
}

const whole = (...from: string[]): PullPart[] => [{ from, start: 0, bytes: CONTENT.length }];
/** The content in two parts, the second from other URLs. */
const halves = (first: string[], second: string[]): PullPart[] => [
  { from: first, start: 0, bytes: 100_000 },
  { from: second, start: 100_000, bytes: 200_000 },
];

const reserve = async () =>
  (await depot.allocate(ALICE, { bytes: CONTENT.length, forMs: 1e6, resumable: true })).allocation;

/** Waits until the origin has been asked so many times. */
async function askedTimes(times: number): Promise<void> {
  while (asked.length < times) await once(origin, 'request');
}

const begin = (allocation: Allocation, parts: PullPart[], sha256?: string) =>
  puller.begin(allocation, { parts, sha256 }, '192.0.2.1');

async function pull(allocation: Allocation, parts: PullPart[], sha256?: string): Promise<void> {
  const { ended } = await begin(allocation, parts, sha256);
  await ended;
}

describe('a pull', () => {
  test('stores the parts in order and completes the upload', async () => {
    const [a, b] = [serve('/a'), serve('/b')];
    const allocation = await reserve();
    const { ended } = await begin(allocation, halves([a], [b]), SHA256);
    expect([allocation.isPulling, puller.running]).toEqual([true, 1]);
    await ended;
    expect([allocation.isPulling, puller.running]).toEqual([false, 0]);
    expect(allocation.head).toMatchObject({ final: { length: CONTENT.length, sha256: SHA256 } });
    expect(allocation.head.pull).toBeUndefined();
    expect(asked).toEqual(['/a bytes=0-99999', '/b bytes=100000-299999']);
  });

  test('takes the next URL for the rest when one sends less than it said', async () => {
    const a = serve('/a', ({ headers, res, body }) => {
      res.writeHead(206, headers).write(body.subarray(0, 150_000), () => res.destroy());
    });
    const b = serve('/b', (answer) => {
      delete answer.headers['content-length'];
      answer.body = answer.body.subarray(0, 50_000);
    });
    const c = serve('/c');
    const allocation = await reserve();
    await pull(allocation, whole(a, b, c), SHA256);
    expect(allocation.head.final?.sha256).toBe(SHA256);
    const starts = asked.map((line) => Number(/bytes=(\d+)/.exec(line)?.[1]));
    // The system may have lost bytes of the connection that broke.
    expect(starts).toEqual([0, starts[1], (starts[1] ?? 0) + 50_000]);
  });

  test('takes the next URL when one is silent', async () => {
    const a = serve('/a', (answer) => {
      answer.body = answer.body.subarray(0, 10_000);
      answer.hangs = true;
    });
    await client.close();
    client = makeClient(1000);
    await depot.close();
    await open();
    const allocation = await reserve();
    await pull(allocation, whole(a, serve('/b')));
    expect(allocation.head.final?.sha256).toBe(SHA256);
    // On a machine that stands still for a second, the other one may seem silent too.
    expect(asked[0]).toBe('/a bytes=0-299999');
    expect(asked.at(-1)).toMatch(/^\/b bytes=\d+-299999$/);
  });

  test('stores no byte of another version in the middle, and says so', async () => {
    let version = '"1"';
    const a = serve('/a', (answer) => {
      answer.headers.etag = version;
      version = '"2"';
    });
    const allocation = await reserve();
    await pull(allocation, halves([a], [a]));
    expect([allocation.offset, allocation.isComplete]).toEqual([100_000, false]);
    expect(allocation.head.pull?.failure).toMatchObject({
      code: 'version-changed',
      message: expect.stringMatching(/another ETag or date \(part 2 of 2, last from 127\.0\.0\.1/),
    });
    expect(asked[1]).toBe('/a bytes=100000-299999 "1"');
    await pull(allocation, halves([a], [a, serve('/b')]));
    expect(allocation.head.final?.sha256).toBe(SHA256);
    expect(allocation.head.pull).toBeUndefined();
  });

  test('goes nowhere that the policy refuses, by redirects neither, but to the network’s depots', async () => {
    const target = serve('/a');
    const other = target.replace('127.0.0.1', 'localhost');
    refusedHosts.add(new URL(other).host);
    const redirect = serve('/r', ({ res }) => res.writeHead(302, { location: other }).end());
    const allocation = await reserve();
    await pull(allocation, whole(other, redirect));
    expect(allocation.head.pull?.failure?.code).toBe('private-address');
    expect([allocation.offset, asked]).toEqual([0, ['/r bytes=0-299999']]);
    inNetwork.add('/a');
    refusedHosts.add(new URL(target).host);
    await pull(allocation, whole(target));
    expect(allocation.head.final?.sha256).toBe(SHA256);
  });

  test('with other bytes than those of its digest is not completed', async () => {
    const allocation = await reserve();
    const a = serve('/a');
    await pull(allocation, whole(a), '0'.repeat(64));
    expect([allocation.offset, allocation.isComplete]).toEqual([CONTENT.length, false]);
    expect(allocation.head.pull?.failure?.code).toBe('content-mismatch');
    expect(depot.get(allocation.head.id)).toBe(allocation);
    await pull(allocation, whole(a), SHA256);
    expect([allocation.isComplete, asked.length]).toEqual([true, 1]);
  });

  test('ends with its allocation, and leaves the source', async () => {
    let left: Promise<unknown> | undefined;
    const a = serve('/a', (answer) => {
      answer.body = answer.body.subarray(0, 1000);
      answer.hangs = true;
      left = once(answer.res, 'close');
    });
    const allocation = await reserve();
    const { ended } = await begin(allocation, whole(a));
    await askedTimes(1);
    await depot.release(allocation);
    await left;
    await ended;
    expect([depot.count, depot.usedBytes]).toEqual([0, 0]);
  });

  test('is interrupted by a restart of the edge, and goes on where it stood when it is posted again', async () => {
    const a = serve('/a', (answer) => {
      answer.body = answer.body.subarray(0, 100_000);
      answer.hangs = true;
    });
    const allocation = await reserve();
    const { id } = allocation.head;
    const parts = halves([a], [a]);
    await begin(allocation, parts, SHA256);
    await askedTimes(2);
    await depot.close();
    await open();
    const again = depot.get(id) as Allocation;
    expect(again.head.pull?.failure).toMatchObject({
      code: 'interrupted',
      message: expect.stringContaining('restarted'),
    });
    const stored = again.offset;
    expect(stored).toBeGreaterThanOrEqual(100_000);
    serve('/a');
    await pull(again, parts, SHA256);
    expect(again.head.final?.sha256).toBe(SHA256);
    expect(asked.slice(2)).toEqual([`/a bytes=${stored}-299999`]);
  });

  test('gives way to a request that appends, which forgets it', async () => {
    const a = serve('/a', (answer) => {
      answer.body = answer.body.subarray(0, 1000);
      answer.hangs = true;
    });
    const allocation = await reserve();
    await begin(allocation, whole(a));
    await askedTimes(1);
    const turn = await allocation.takeTurn();
    expect(allocation.head.pull?.failure?.code).toBe('interrupted');
    await depot.notePull(allocation, undefined);
    expect(allocation.head.pull).toBeUndefined();
    turn.end();
  });

  test('is refused beyond the places of its owner, and where the upload has no room for it', async () => {
    const a = serve('/a', (answer) => {
      answer.body = Buffer.alloc(0);
      answer.hangs = true;
    });
    const allocation = await reserve();
    const long = [{ from: [a], start: 0, bytes: CONTENT.length + 1 }];
    await expect(begin(allocation, long)).rejects.toEqual(failing('upload-too-long'));
    const pulls: Promise<void>[] = [];
    for (let i = 0; i < OWNER_PULLS; i++) {
      pulls.push((await begin(await reserve(), whole(a))).ended);
    }
    await expect(begin(allocation, whole(a))).rejects.toEqual(failing('too-many-transfers'));
    expect([refusals, allocation.isPulling]).toEqual([['pulls refused 192.0.2.1'], false]);
    for (const running of depot.allocations) await depot.release(running);
    await Promise.all(pulls);
    const complete = await reserve();
    await pull(complete, whole(serve('/b')));
    await expect(begin(complete, whole(a))).rejects.toEqual(failing('upload-complete'));
    expect(puller.running).toBe(0);
  });
});
