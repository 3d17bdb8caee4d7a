/** Uploads to a depot: appends of every kind, capabilities, secrecy. */

import { once } from 'node:events';
import { request } from 'node:http';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { rawConnect } from '../../fixtures/clients/raw-client.ts';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import {
  appendTo,
  askDepot,
  closeOf,
  DepotStage,
  OWNER_TOKEN,
  owned,
  reserve,
  stateOf,
  store,
} from '../../fixtures/stages/depot-stage.ts';
import { becomes } from '../../fixtures/until.ts';

const stage = await DepotStage.set();
const edge = await stage.start();
const IANA = 'https://iana.org/assignments/http-problem-types#';

function digestField(content: Buffer): string {
  return `sha-256=:${Buffer.from(sha256(content), 'hex').toString('base64')}:`;
}

describe('appends', () => {
  test('put a file together in the order of its bytes, and tell how much there is', async () => {
    const content = contentOf('parts', 300_000);
    const { write, read } = await reserve(edge, 300_000);
    const parts = [0, 1, 65_535, 131_072, 200_001, 300_000];
    for (const [i, end] of parts.slice(1).entries()) {
      const start = parts[i] as number;
      expect((await askDepot('GET', read)).body.code).toBe('upload-incomplete');
      const answer = await appendTo(write, start, content.subarray(start, end), end === 300_000);
      expect(answer.status).toBe(end === 300_000 ? 200 : 204);
      expect(answer.headers.get('upload-offset')).toBe(String(end));
    }
    expect(await stateOf(write)).toEqual([300_000, '?1']);
    const { headers } = await askDepot('HEAD', write);
    expect(headers.get('repr-digest')).toBe(digestField(content));
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('upload-limit')).toMatch(/^max-size=300000, max-age=3\d\d\d$/);
    expect(sha256(Buffer.from(await (await fetch(read)).arrayBuffer()))).toBe(sha256(content));
  });

  test('at another offset, over each other, repeated or too long are refused, and nothing changes', async () => {
    const content = contentOf('offsets', 10_000);
    const { write } = await reserve(edge, 10_000);
    await appendTo(write, 0, content.subarray(0, 5000), false);
    for (const offset of [0, 4999, 5001]) {
      const answer = await appendTo(write, offset, content.subarray(offset, 6000), false);
      expect([answer.status, answer.headers.get('upload-offset')]).toEqual([409, '5000']);
      expect(answer.body).toMatchObject({
        ...{ type: `${IANA}mismatching-upload-offset`, code: 'offset-mismatch' },
        ...{ 'expected-offset': 5000, 'provided-offset': offset },
      });
    }
    const long = await appendTo(write, 5000, contentOf('long', 5001), false);
    expect([long.status, long.body.code]).toEqual([413, 'upload-too-long']);
    expect(long.headers.get('upload-limit')).toContain('max-size=10000');
    expect(await stateOf(write)).toEqual([5000, '?0']);
    expect((await appendTo(write, 5000, content.subarray(5000), true)).status).toBe(200);
    const again = await appendTo(write, 10_000, Buffer.alloc(0), true);
    expect([again.status, again.body.type]).toEqual([400, `${IANA}completed-upload`]);
    expect(await stateOf(write)).toEqual([10_000, '?1']);
  });

  test('that state two lengths are refused, and so is an end before the stated length', async () => {
    const { write } = await reserve(edge, 10_000);
    const content = contentOf('lengths', 2000);
    const first = await appendTo(write, 0, content, false, { 'upload-length': '5000' });
    expect(first.status).toBe(204);
    for (const [complete, length] of [
      [false, '6000'],
      [true, '5000'],
      [true, undefined],
    ] as const) {
      const more: Record<string, string> = length === undefined ? {} : { 'upload-length': length };
      const answer = await appendTo(write, 2000, content, complete, more);
      expect([answer.status, answer.body.type]).toEqual([400, `${IANA}inconsistent-upload-length`]);
    }
    expect(await stateOf(write)).toEqual([2000, '?0']);
  });

  test('with a wrong digest of their content leave no byte; a wrong digest of the file ends it', async () => {
    const content = contentOf('digests', 200_000);
    const { write } = await reserve(edge, 200_000);
    await appendTo(write, 0, content.subarray(0, 70_000), false);
    const rest = content.subarray(70_000);
    const wrong = await appendTo(write, 70_000, rest, true, {
      'content-digest': digestField(content),
    });
    expect([wrong.status, wrong.body.code]).toEqual([400, 'content-mismatch']);
    expect(await stateOf(write)).toEqual([70_000, '?0']);
    const right = await appendTo(write, 70_000, rest, true, {
      'content-digest': digestField(rest),
    });
    expect([right.status, right.body.sha256]).toEqual([200, sha256(content)]);

    const before = (await edge.status()).admission.depotBytes?.use;
    const doomed = await askDepot(
      'POST',
      `${edge.url}/-/depot`,
      { ...owned(), 'upload-complete': '?1', 'repr-digest': digestField(rest) },
      content,
    );
    expect([doomed.status, doomed.body.code]).toEqual([400, 'content-mismatch']);
    await becomes(async () => (await edge.status()).admission.depotBytes?.use, before);
  });

  test('of another type, or without their fields, are refused', async () => {
    const { write } = await reserve(edge, 100);
    const bytes = Buffer.from('x');
    const wrong: Record<string, string>[] = [
      { 'content-type': 'application/octet-stream' },
      { 'upload-offset': 'zero' },
      { 'upload-complete': 'true' },
    ];
    for (const more of wrong) {
      expect((await appendTo(write, 0, bytes, false, more)).status).toBe(400);
    }
    expect(await stateOf(write)).toEqual([0, '?0']);
  });

  test('are terminated by the next request for the upload, which continues after what came', async () => {
    const content = contentOf('terminated', 5_000_000);
    const { write } = await reserve(edge, content.length);
    const first = request(write, {
      method: 'PATCH',
      headers: {
        ...{ 'content-type': 'application/partial-upload', 'upload-offset': '0' },
        ...{ 'upload-complete': '?1', 'content-length': String(content.length) },
      },
    });
    first.on('error', () => {});
    const acknowledged = once(first, 'information');
    first.write(content.subarray(0, 3_000_000));
    // The depot acknowledges once a second, as long as bytes come.
    let at = 3_000_000;
    const more = setInterval(() => first.write(content.subarray(at, ++at)), 50);
    const [{ statusCode, headers }] = await acknowledged;
    clearInterval(more);
    expect(statusCode).toBe(104);
    const closed = closeOf(first);
    const [offset] = (await stateOf(write)) as [number];
    await closed;
    expect(offset).toBeGreaterThanOrEqual(Number(headers['upload-offset']));
    const answer = await appendTo(write, offset, content.subarray(offset), true);
    expect([answer.status, answer.body.sha256]).toEqual([200, sha256(content)]);
  });

  test('whose connection breaks keep what came, and a file put without resumption keeps nothing', async () => {
    const before = (await edge.status()).admission.depotBytes?.use;
    const { write, manage } = await reserve(edge, 1_000_000);
    const received = async () => {
      const metrics = await (await fetch(`${edge.url}/-/metrics`)).text();
      return Number(/^millrace_depot_received_bytes_total (\d+)$/m.exec(metrics)?.[1]);
    };
    const send = async (head: string) => {
      const came = await received();
      const socket = await rawConnect(edge.url);
      socket.write(`${head}\r\nHost: depot\r\nContent-Length: 1000000\r\n\r\n`);
      socket.write(contentOf('broken', 400_000));
      await becomes(received, came + 400_000);
      return socket;
    };
    const path = new URL(write).pathname;
    const fields = 'Content-Type: application/partial-upload\r\nUpload-Offset: 0';
    const patch = await send(`PATCH ${path} HTTP/1.1\r\n${fields}\r\nUpload-Complete: ?1`);
    patch.destroy();
    await becomes(() => stateOf(write), [400_000, '?0']);
    expect((await askDepot('DELETE', manage)).status).toBe(204);
    const put = await send(`PUT /-/depot/x HTTP/1.1\r\nAuthorization: Bearer ${OWNER_TOKEN}`);
    put.destroy();
    await becomes(async () => (await edge.status()).admission.depotBytes?.use, before);
  });
});

describe('capabilities', () => {
  test('allow their own use only, and not that of another allocation', async () => {
    const content = contentOf('capability', 1000);
    const mine = await store(edge, content);
    const other = await store(edge, content);
    const swap = (link: string, to: string) =>
      link.replace(/[\w-]{32}(?=\/|$)/, /([\w-]{32})(?:\/[^/]*)?$/.exec(to)?.[1] as string);
    const kinds = ['read', 'write', 'manage'] as const;
    const methods = { read: 'GET', write: 'HEAD', manage: 'GET' } as const;
    for (const of of kinds) {
      for (const as of kinds) {
        const own = await askDepot(methods[as], swap(mine[as], mine[of]));
        expect([of, as, own.status < 300]).toEqual([of, as, of === as]);
        // After ten wrong ones, they get another answer.
        if (of !== as) expect([404, 429]).toContain(own.status);
        const others = await askDepot(methods[as], swap(other[as], mine[of]));
        expect([404, 429]).toContain(others.status);
      }
    }
    expect(swap(mine.read, other.read)).not.toBe(mine.read);
    for (const [method, link] of [
      ['PUT', mine.read],
      ['DELETE', mine.read],
      ['GET', mine.write],
      ['DELETE', mine.write],
      ['POST', mine.manage],
    ] as const) {
      const answer = await askDepot(method, link);
      expect([answer.status, answer.body.code]).toEqual([405, 'method-refused']);
    }
    expect((await askDepot('GET', mine.read)).status).toBe(200);
  });

  test('that are wrong are refused the same way whether the file exists or not, then slowed down', async () => {
    const own = await stage.start('--depot-dir', join(stage.folder, 'guesses'));
    const { read } = await store(own, contentOf('guessed', 10));
    const guesses = [
      read.replace(/[\w-]{32}/, 'A'.repeat(32)),
      read.replace(/[\w-]{16}/, 'B'.repeat(16)),
    ];
    const answers = [];
    for (const guess of guesses) answers.push(await askDepot('GET', guess));
    expect(answers[0]?.text).toBe(answers[1]?.text);
    expect(answers.map(({ status }) => status)).toEqual([404, 404]);
    const statuses = [];
    for (let i = 0; i < 20; i++)
      statuses.push((await askDepot('GET', guesses[0] as string)).status);
    expect(statuses.slice(0, 8)).toEqual(Array(8).fill(404));
    expect(statuses).toContain(429);
    // Nobody can be shut out by another one's guesses.
    expect((await askDepot('GET', read)).status).toBe(200);
    expect((await own.status()).admission.capabilities?.refused).toBeGreaterThan(0);
  });

  test('and names are neither in the log, the status and the metrics, nor on the disk', async () => {
    const adminToken = join(stage.folder, 'token');
    const own = await stage.start(
      ...['--depot-dir', join(stage.folder, 'secrets'), '--log-level', 'debug'],
      ...['--allow-origin', '127.0.0.1', '--admin-token-file', adminToken],
      ...['--cache-dir', join(stage.folder, 'cache'), '--cache-disk', '10MiB'],
    );
    const links = await store(own, contentOf('secret', 100_000), { type: 'image/png' });
    const all = [links.read, links.write, links.manage];
    for (const link of all) {
      await askDepot('GET', link);
      await askDepot('HEAD', link);
      await askDepot('OPTIONS', link);
      await askDepot('GET', `${link}x`);
      await askDepot('GET', `${link}?a=b`);
      await askDepot('GET', `${own.url}/${link}`);
    }
    await askDepot('GET', links.read, { range: 'bytes=0-5' });
    await own.logged(new RegExp(`"target":"/-/d/${links.id}/…"`));
    const told = [
      own.log.join('\n'),
      await (await fetch(`${own.url}/-/metrics`)).text(),
      JSON.stringify(await own.status()),
      await (await fetch(`${own.url}/-/dashboard/figures`, { headers: owned() })).text(),
      await stage.diskText(join(stage.folder, 'secrets')),
    ].join('\n');
    expect(told.includes(links.id)).toBe(true);
    for (const link of all) {
      const [secret = 'none'] = /[\w-]{32}(?=\/|$)/.exec(new URL(link).pathname) ?? [];
      expect(secret).toHaveLength(32);
      expect(told.includes(secret)).toBe(false);
    }
    expect(told.includes(OWNER_TOKEN)).toBe(false);
  });
});
