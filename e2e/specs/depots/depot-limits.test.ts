/** Limits of a depot: quotas, uploads at a time, and leases that end. */

import { once } from 'node:events';
import { request } from 'node:http';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { rawConnect } from '../../fixtures/clients/raw-client.ts';
import { contentOf } from '../../fixtures/origins/content.ts';
import {
  appendTo,
  askDepot,
  closeOf,
  DepotStage,
  type Links,
  OWNER_TOKEN,
  owned,
  reserve,
  stateOf,
  store,
} from '../../fixtures/stages/depot-stage.ts';
import { becomes, until } from '../../fixtures/until.ts';

const stage = await DepotStage.set();

describe('limits', () => {
  test('many clients at once cannot exceed the quota, nor an owner what is hers', async () => {
    const own = await stage.start(
      ...['--depot-dir', join(stage.folder, 'race'), '--depot-quota', '1000KB'],
      ...['--own-requests', '0', '--client-transfers', '0'],
    );
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, i) =>
        askDepot('POST', `${own.url}/-/depot`, owned(), { bytes: 30_000 + i, seconds: 3600 }),
      ),
    );
    const made = answers.filter(({ status }) => status === 201);
    const refused = answers.filter(({ status }) => status === 507);
    expect(made.length + refused.length).toBe(100);
    expect(made.length).toBe(33);
    expect(refused[0]?.body.reason).toMatch(/^quota: .* of the depot are left$/);
    const { use = 0, limit = 0 } = (await own.status()).admission.depotBytes ?? {};
    expect(use).toBeLessThanOrEqual(limit);
    expect(use).toBe(made.reduce((sum, { body }) => sum + body.bytes, 0));
    const [first] = made;
    expect((await askDepot('DELETE', first?.body.manage)).status).toBe(204);
    expect(
      (await askDepot('POST', `${own.url}/-/depot`, owned(), { bytes: 30_000, seconds: 60 }))
        .status,
    ).toBe(201);
  });

  test('an upload of unknown length ends where the quota does, and keeps what it has', async () => {
    const own = await stage.start(
      ...['--depot-dir', join(stage.folder, 'unknown'), '--depot-quota', '300KB'],
    );
    const content = contentOf('unknown', 400_000);
    const client = request(`${own.url}/-/depot`, {
      method: 'POST',
      headers: { ...owned(), 'upload-complete': '?1', 'transfer-encoding': 'chunked' },
    });
    let write = '';
    client.on('information', ({ headers }) => {
      write ||= headers.location ?? '';
    });
    client.on('error', () => {});
    client.end(content);
    const [response] = await once(client, 'response');
    response.resume();
    expect(response.statusCode).toBe(507);
    const [offset] = (await stateOf(write)) as [number];
    expect(offset).toBeGreaterThan(0);
    expect(offset).toBeLessThanOrEqual(300_000);
  });

  test('eight uploads of one client run at a time', async () => {
    const own = await stage.start('--depot-dir', join(stage.folder, 'eight'));
    const sockets = [];
    for (let i = 0; i < 8; i++) {
      const socket = await rawConnect(own.url);
      socket.write(
        `PUT /-/depot/x HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${OWNER_TOKEN}\r\nContent-Length: 10\r\n\r\n`,
      );
      sockets.push(socket);
    }
    await until(async () => (await own.status()).admission.appends?.use === 8);
    const { write } = await reserve(own, 10);
    const ninth = await appendTo(write, 0, Buffer.from('x'), false);
    expect([ninth.status, ninth.body.code]).toEqual([429, 'too-many-transfers']);
    for (const socket of sockets) socket.destroy();
    await becomes(async () => (await own.status()).admission.appends?.use, 0);
    expect((await appendTo(write, 0, Buffer.from('x'), false)).status).toBe(204);
  });

  test('a client that leaves while its rate, or that of the owner, holds it back is no internal error', async () => {
    const dir = ['--depot-dir', join(stage.folder, 'rate')];
    const own = await stage.start(...dir, '--client-rate', '64KiB');
    const { read } = await store(own, contentOf('rate', 4_000_000));
    const reader = await rawConnect(own.url);
    reader.write(`GET ${new URL(read).pathname} HTTP/1.1\r\nHost: a\r\n\r\n`);
    await once(reader, 'readable');
    reader.destroy();
    await own.logged(/"transfer failed"/);
    await own.stop();
    await stage.setOwners('alice', 'rate=1KiB/s');
    const slow = await stage.start(...dir);
    await stage.setOwners('alice');
    const writer = await rawConnect(slow.url);
    writer.write(
      `PUT /-/depot/x HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${OWNER_TOKEN}\r\n` +
        `Content-Length: 1000000\r\n\r\n${'x'.repeat(60_000)}`,
    );
    await until(async () => {
      const metrics = await (await fetch(`${slow.url}/-/metrics`)).text();
      return /^\w+_depot_received_bytes_total\S* [1-9]/m.test(metrics);
    });
    writer.destroy();
    await slow.logged(/"transfer failed"/);
    expect([...own.log, ...slow.log].filter((line) => line.includes('internal'))).toEqual([]);
  });
});

describe('leases', () => {
  test('end by themselves, also under a reader and a writer, and give the space back', async () => {
    const own = await stage.start('--depot-dir', join(stage.folder, 'leases'), '--depot-max', '1h');
    const content = contentOf('lease', 40_000_000);
    const links = await store(own, content);
    const open = await reserve(own, 100);
    const tooLong = await askDepot('PATCH', links.manage, {}, { seconds: 7200 });
    expect([tooLong.status, tooLong.body.reason]).toEqual([507, 'lease: at most 3600 s at a time']);
    // A reader that takes nothing for now.
    const socket = await rawConnect(own.url);
    socket.write(`GET ${new URL(links.read).pathname} HTTP/1.1\r\nHost: a\r\n\r\n`);
    await once(socket, 'readable');
    let received = 0;
    const ended = closeOf(socket);
    for (const { manage } of [links, open]) {
      expect((await askDepot('PATCH', manage, {}, { seconds: 1 })).status).toBe(200);
    }
    // HEAD, since a body would be cut off at the end of the lease.
    await becomes(async () => (await askDepot('HEAD', links.read)).status, 410);
    await becomes(async () => (await own.status()).admission.depotBytes?.use, 0);
    socket.on('data', (piece) => {
      received += piece.length;
    });
    await ended;
    expect(received).toBeLessThan(content.length);
    for (const link of [open.write, links.manage]) {
      expect((await askDepot(link === open.write ? 'HEAD' : 'GET', link)).status).toBe(410);
    }
    // A wrong link is not told that there was a file.
    const wrong = links.read.replace(/[\w-]{32}/, 'A'.repeat(32));
    expect((await askDepot('GET', wrong)).status).toBe(404);
  });

  test('are extended and cut short by whoever manages, and more space is reserved', async () => {
    const links: Links = await reserve(await stage.start(), 10);
    const changed = await askDepot('PATCH', links.manage, {}, { seconds: 7200, bytes: 20 });
    expect(changed.status).toBe(200);
    expect(changed.body).toMatchObject({ bytes: 20, offset: 0, complete: false, owner: 'alice' });
    const left = (Date.parse(changed.body.expires) - Date.now()) / 1000;
    expect(Math.abs(left - 7200)).toBeLessThan(600);
    expect((await appendTo(links.write, 0, Buffer.alloc(20), true)).status).toBe(200);
    const fixed = await askDepot('PATCH', links.manage, {}, { bytes: 30 });
    expect([fixed.status, fixed.body.code]).toEqual([400, 'upload-complete']);
  });
});
