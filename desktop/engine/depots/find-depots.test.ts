import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { KeptHistory } from '../upload/spread/kept-history.ts';
import { findDepots } from './find-depots.ts';

const TOKEN = 'token-of-alice';
const DEPOT = { freeBytes: 1000, maxSeconds: 3600 };
/** An edge with a depot, which says what the tests want. */
class Edge {
  readonly server: Server;
  /** Entries of its list. */
  list: unknown[] = [];
  room: object | undefined = { owner: 'alice', bytes: 1000, count: 10, seconds: 3600 };
  /** Requests with a token. */
  asked = 0;

  constructor() {
    this.server = createServer((req, res) => {
      const isList = req.url?.startsWith('/-/edges') === true;
      if (!isList && req.headers.authorization !== undefined) this.asked++;
      const body = isList ? { routing: 'hrw-1', edges: this.list } : this.room;
      res.setHeader('content-type', 'application/json');
      res.statusCode = body === undefined ? 401 : 200;
      res.end(JSON.stringify(body ?? { code: 'owner-token-required', status: 401 }));
    });
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  entry(more: object = {}): object {
    return { name: this.url, url: this.url, healthy: true, rttMs: 5, depot: DEPOT, ...more };
  }
}

const [named, a, b, c] = [new Edge(), new Edge(), new Edge(), new Edge()];
let state = '';
beforeAll(async () => {
  state = await mkdtemp(join(tmpdir(), 'millrace-find-'));
  for (const { server } of [named, a, b, c]) await once(server.listen(0, '127.0.0.1'), 'listening');
});
afterAll(async () => {
  for (const { server } of [named, a, b, c]) server.close();
  await rm(state, { recursive: true });
});

/** Finds depots by way of the named one. @returns the addresses of all, and what was passed over */
async function finding(count: number, upload: string, folder = state) {
  const passed: unknown[] = [];
  const { depots, forget } = await findDepots({
    ...{ named: [{ edge: named.url, token: TOKEN }], count, bytes: 500, forMs: 60_000 },
    history: new KeptHistory(folder),
    ...{ upload: [upload], state: folder, signal: new AbortController().signal },
    observe: { found: () => {}, passed: (edge, { code }) => passed.push([edge, code]) },
  });
  return { used: depots.map(({ edge }) => edge), passed, forget };
}

test('an interrupted upload goes on at the depots that it has found, whatever the list says then', async () => {
  named.list = [named.entry({ rttMs: 0 }), a.entry(), b.entry()];
  const first = await finding(2, 'resumed');
  expect(first.used).toEqual([named.url, a.url]);
  // Its space is reserved, so the depot has room for no more, and is listed no more.
  named.list = [named.entry({ rttMs: 0 }), b.entry()];
  a.room = { ...a.room, bytes: 0 };
  expect((await finding(2, 'resumed')).used).toEqual([named.url, a.url]);
  expect((await finding(2, 'another')).used).toEqual([named.url, b.url]);
  await first.forget();
  expect((await finding(2, 'resumed')).used).toEqual([named.url, b.url]);
  a.room = { owner: 'alice', bytes: 1000, count: 10, seconds: 3600 };
});

test('edges that take no such token, or have no room, are passed over, and others take their place', async () => {
  a.room = undefined;
  b.room = { owner: 'alice', bytes: 499, count: 10, seconds: 3600 };
  named.list = [named.entry({ rttMs: 0 }), a.entry(), b.entry(), c.entry()];
  const { used, passed } = await finding(2, 'passed');
  expect(used).toEqual([named.url, c.url]);
  expect(passed).toEqual([
    [a.url, 'owner-token-required'],
    [b.url, 'allocation-refused'],
  ]);
  const few = finding(3, 'few');
  await expect(few).rejects.toMatchObject({ code: 'too-few-depots' });
});

test('no token goes to edges that list no room, are unhealthy, or are the named one again', async () => {
  a.room = b.room = { owner: 'alice', bytes: 1000, count: 10, seconds: 3600 };
  const before = [a.asked, b.asked];
  named.list = [
    ...[
      named.entry({ rttMs: 0, url: c.url }),
      { nothing: 1 },
      'text',
      { url: 'ftp://x', healthy: true },
    ],
    ...[a.entry({ depot: undefined }), b.entry({ healthy: false })],
    ...[
      a.entry({ depot: { ...DEPOT, freeBytes: 499 } }),
      b.entry({ depot: { ...DEPOT, maxSeconds: 59 } }),
    ],
  ];
  await expect(finding(2, 'none')).rejects.toMatchObject({ code: 'too-few-depots' });
  expect([a.asked, b.asked]).toEqual(before);
});

test('a depot that has lost files before is found last, and one that refuses is remembered', async () => {
  const own = join(state, 'history');
  const before = new KeptHistory(own);
  before.note(a.url, { kind: 'lost' });
  await before.save();
  named.list = [a.entry(), b.entry(), c.entry()];
  expect((await finding(3, 'history', own)).used).toEqual([named.url, b.url, c.url]);
  expect((await finding(4, 'all of them', own)).used.at(-1)).toBe(a.url);
  b.room = { owner: 'alice', bytes: 1, count: 10, seconds: 3600 };
  const { used, passed } = await finding(2, 'full', own);
  expect([used, passed]).toEqual([[named.url, c.url], [[b.url, 'allocation-refused']]]);
  const seen = await new KeptHistory(own).read();
  expect(seen.find(({ origin }) => origin === b.url)).toMatchObject({ failure: 'refused' });
  // It comes after those of which nothing bad is known.
  expect((await finding(2, 'later', own)).passed).toEqual([]);
});
