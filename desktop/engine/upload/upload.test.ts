/** Uploads to depots that have lost what they have acknowledged: the real uploader over real sockets. */

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { uploadFields } from '@millrace/shared/http/fields/upload-fields';
import { type UploadOptions, upload } from './upload.ts';

const BYTES = 1_500_000;
const END = '2100-01-01T00:00:00.000Z';
/** Bytes after which the first append is cut off. */
const CUT = 700_000;
const content = Buffer.from(
  Uint8Array.from({ length: BYTES }, (_, i) => (i * 31 + (i >> 8)) % 256),
);

let dir = '';
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'millrace-'));
  await writeFile(join(dir, 'file.bin'), content);
});
afterAll(() => rm(dir, { recursive: true, force: true }));

/** A depot whose first append is cut off, after which it comes back with other bytes than it had. */
async function losingDepot(comeBack: (stored: Buffer) => Buffer) {
  let stored: Buffer = Buffer.alloc(0);
  let isCut = false;
  const offsets: number[] = [];
  let deleted = 0;
  const tell = (response: ServerResponse, status: number) => {
    const complete = stored.length === BYTES;
    const digest = createHash('sha256').update(stored).digest('base64');
    response.writeHead(status, {
      ...uploadFields({ offset: stored.length, complete }),
      ...(complete ? { 'repr-digest': `sha-256=:${digest}:` } : {}),
    });
    response.end();
  };
  const append = async (request: IncomingMessage, response: ServerResponse) => {
    const offset = Number(request.headers['upload-offset']);
    expect(offset).toBe(stored.length);
    offsets.push(offset);
    const parts = [stored];
    let length = stored.length;
    for await (const part of request as AsyncIterable<Buffer>) {
      parts.push(part);
      length += part.length;
      if (isCut || length < CUT) continue;
      isCut = true;
      stored = comeBack(Buffer.concat(parts).subarray(0, CUT));
      request.socket.destroy();
      return;
    }
    stored = Buffer.concat(parts);
    tell(response, 200);
  };
  const server = createServer((request, response) => {
    const { method, headers, url } = request;
    const base = `http://${headers.host}/-/depot`;
    if (method === 'POST') {
      const [id, secret] = ['i'.repeat(16), 's'.repeat(32)];
      const read = `http://${headers.host}/-/d/${id}/${secret}/file.bin`;
      const links = {
        read,
        write: `${base}/w/${id}/${secret}`,
        manage: `${base}/m/${id}/${secret}`,
      };
      response.writeHead(201, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ id, ...links, expires: END }));
    } else if (method === 'PATCH' && url?.startsWith('/-/depot/m/')) {
      response.end(JSON.stringify({ expires: END }));
    } else if (method === 'HEAD') tell(response, 204);
    else if (method === 'DELETE') {
      deleted++;
      response.writeHead(204).end();
    } else append(request, response).catch(() => {});
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const send = (state: string, more: Partial<UploadOptions> = {}) =>
    upload({
      ...{ path: join(dir, 'file.bin'), name: 'file.bin', token: 'token', forMs: 3_600_000 },
      edge: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      state: join(dir, state),
      retryMs: 60_000,
      signal: new AbortController().signal,
      now: () => performance.now(),
      observe: { begun() {}, sent() {}, retried() {}, anew() {} },
      ...more,
    });
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { send, close, offsets, stored: () => stored, deleted: () => deleted };
}

test('a depot that comes back with older data gets all bytes from there on again', async () => {
  const depot = await losingDepot((stored) => stored.subarray(0, 100_000));
  try {
    const { sha256 } = await depot.send('older');
    expect(depot.offsets).toEqual([0, 100_000]);
    expect(depot.stored().equals(content)).toBe(true);
    expect(sha256).toBe(createHash('sha256').update(content).digest('hex'));
  } finally {
    depot.close();
  }
});

test('a limited upload pays for each byte before it is sent, and again for those that are sent again', async () => {
  const depot = await losingDepot((stored) => stored.subarray(0, 100_000));
  let paid = 0;
  const early: number[] = [];
  try {
    await depot.send('limited', {
      limit: {
        async take(bytes) {
          paid += bytes;
        },
      },
      observe: {
        ...{ begun() {}, retried() {}, anew() {} },
        sent(end) {
          if (end > paid) early.push(end);
        },
      },
    });
    expect(early).toEqual([]);
    expect(paid).toBeGreaterThanOrEqual(CUT + BYTES - 100_000);
    expect(depot.stored().equals(content)).toBe(true);
  } finally {
    depot.close();
  }
});

test.each([
  ['claims more than it has', (stored: Buffer) => Buffer.concat([stored, Buffer.alloc(50_000)])],
  ['comes back with a byte changed', (stored: Buffer) => Buffer.from(stored).fill(7, 5, 6)],
])(
  'a depot that %s is found out: the upload fails, and its space is released',
  async (name, lose) => {
    const depot = await losingDepot(lose);
    try {
      await expect(depot.send(name)).rejects.toMatchObject({ code: 'content-mismatch' });
      expect(depot.deleted()).toBe(1);
      // The next upload begins anew.
      const left = await readdir(join(dir, name, 'uploads'));
      expect(left.filter((one) => one.endsWith('.json'))).toEqual([]);
    } finally {
      depot.close();
    }
  },
);
