/** The page for guests: which space it takes, and what it makes of a depot's answers. */

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { formatGuestLink, isClaim, parseGuestLink } from '@millrace/shared/http/urls/guest-link';
import { PIECE_BYTES, type Refusal, sendFile, stateOf } from './sending.js';
import { begunBefore, newClaim, remember, spacesOf } from './spaces.js';

const [ID, W, R] = ['i'.repeat(16), 'w'.repeat(32), 'r'.repeat(32)];

test('the page reads the links that the command writes', () => {
  for (const base of ['https://a.example', 'https://a.example/prefix']) {
    const made = [ID, 'j'.repeat(16)].map((id) => ({
      ...{ write: `${base}/-/depot/w/${id}/${W}`, read: `${base}/-/d/${id}/${R}/file` },
    }));
    const link = formatGuestLink(made);
    expect(spacesOf(link).map(({ write, read }) => ({ write, read }))).toEqual(
      parseGuestLink(link),
    );
    for (const bad of [link.slice(0, -1), link.replace('#g.', '#'), link.replace('guest', 'x')]) {
      expect(spacesOf(bad)).toEqual([]);
    }
  }
});

test('an upload is continued for the same file only, in this browser only', () => {
  const kept = new Map<string, string>();
  const storage = {
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, text: string) => void kept.set(name, text),
  };
  const file = { name: 'a.bin', size: 5, lastModified: 7 };
  const spaces = [{ id: ID, write: 'w', read: 'r' }];
  const claim = newClaim();
  expect(isClaim(claim)).toBe(true);
  expect(begunBefore(spaces, file, storage)).toBeUndefined();
  remember({ ...file, id: ID, claim }, storage);
  expect(begunBefore(spaces, file, storage)?.claim).toBe(claim);
  for (const other of [{ name: 'b' }, { size: 6 }, { lastModified: 8 }]) {
    expect(begunBefore(spaces, { ...file, ...other }, storage)).toBeUndefined();
  }
  expect(begunBefore([{ id: 'x', write: 'w', read: 'r' }], file, storage)).toBeUndefined();
  kept.set('millrace-guest', '{"odd": 1}');
  expect(begunBefore(spaces, file, storage)).toBeUndefined();
});

describe('a file', () => {
  /** Bytes that the depot has, and its answers to the next requests in place of taking them. */
  let stored: Buffer;
  let answers: (number | 'cut')[];
  let isComplete: boolean;
  let seen: IncomingMessage['headers'][];

  async function take(req: IncomingMessage, res: ServerResponse) {
    const answer = answers.shift();
    if (answer === 'cut') return void req.destroy();
    if (answer !== undefined && answer > 0) return void res.writeHead(answer).end();
    if (req.method === 'PATCH') {
      seen.push(req.headers);
      const body = Buffer.concat(await req.toArray());
      const digest = createHash('sha256').update(body).digest('base64');
      expect(req.headers['content-digest']).toBe(`sha-256=:${digest}:`);
      if (Number(req.headers['upload-offset']) !== stored.length)
        return void res.writeHead(409).end();
      stored = Buffer.concat([stored, body]);
      isComplete = req.headers['upload-complete'] === '?1';
    }
    const fields = {
      ...{ 'upload-offset': stored.length, 'upload-complete': isComplete ? '?1' : '?0' },
      'upload-limit': 'max-size=100000000, max-age=60',
    };
    return void res.writeHead(isComplete && req.method === 'PATCH' ? 200 : 204, fields).end();
  }
  const server = createServer((req, res) => void take(req, res)).listen(0, '127.0.0.1');
  const listening = once(server, 'listening');
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  const space = () => {
    const { port } = server.address() as AddressInfo;
    return { id: ID, write: `http://127.0.0.1:${port}/w`, read: '' };
  };
  const content = Buffer.alloc(2 * PIECE_BYTES + 5, 'guests bring files ');
  beforeEach(async () => {
    await listening;
    [stored, answers, isComplete, seen] = [Buffer.alloc(0), [], false, []];
  });

  /** Sends the content. @returns how it ends, and the offsets that were shown */
  async function sent(bytes = content) {
    const shown: number[] = [];
    const end = await sendFile({
      ...{
        file: new File([new Uint8Array(bytes)], "it's 1.bin"),
        space: space(),
        claim: 'c'.repeat(32),
      },
      ...{ onStored: (at: number) => void shown.push(at), pause: async () => {} },
      signal: new AbortController().signal,
    }).then(
      () => 'sent',
      (error: Refusal) => error.kind,
    );
    return [end, shown] as const;
  }

  test('comes in pieces, each with its digest, its claim and the name', async () => {
    expect(await sent()).toEqual(['sent', [0, PIECE_BYTES, 2 * PIECE_BYTES, content.length]]);
    expect(stored.equals(content)).toBe(true);
    for (const headers of seen) {
      expect(headers['upload-claim']).toBe('c'.repeat(32));
      expect(headers['content-disposition']).toBe("attachment; filename*=UTF-8''it%27s%201.bin");
    }
    [stored, isComplete] = [Buffer.alloc(0), false];
    expect((await sent(Buffer.alloc(0)))[0]).toBe('sent');
  });

  test('goes on where the depot stands, after whatever has come between', async () => {
    answers = [0, 0, 'cut', 503, 0, 0, 409];
    const [end, shown] = await sent();
    expect([end, stored.equals(content)]).toEqual(['sent', true]);
    expect(shown.at(-1)).toBe(content.length);
    // A browser that opens the page again begins with what is there.
    [stored, isComplete, seen] = [content.subarray(0, PIECE_BYTES), false, []];
    expect((await sent())[0]).toBe('sent');
    expect(seen.map((headers) => headers['upload-offset'])).toEqual([
      `${PIECE_BYTES}`,
      `${2 * PIECE_BYTES}`,
    ]);
  });

  test.each([
    ['too-large', [0, 413]],
    ['no-room', [0, 507]],
    ['over', [0, 410]],
    ['over', [404]],
    ['taken', [409]],
    ['away', Array<number>(30).fill(503)],
  ])('ends as %s after the statuses %j', async (kind, statuses) => {
    answers = [...statuses];
    expect((await sent())[0]).toBe(kind);
  });

  test('is not sent where more is stored than it has', async () => {
    stored = Buffer.alloc(content.length + 1);
    expect((await sent())[0]).toBe('changed');
  });

  test('shows the limits of its space', async () => {
    expect(await stateOf(space(), undefined)).toEqual({
      ...{ kind: 'there', offset: 0, complete: false, most: 100_000_000, seconds: 60 },
    });
    answers = [409];
    expect(await stateOf(space(), 'x')).toEqual({ kind: 'taken' });
  });
});
