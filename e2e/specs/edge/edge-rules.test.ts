/** Rules per origin. */

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { fetchAll } from '../../fixtures/clients/http-client.ts';
import { outcome, RulesStage } from '../../fixtures/stages/rules-stage.ts';
import { until } from '../../fixtures/until.ts';

const stage = await RulesStage.set();
const { origin } = stage;

describe('rules per origin', () => {
  test('say which types are served, and how large files may be', async () => {
    const e = await stage.start({
      origins: [
        { origin: '127.0.0.1', contentTypes: ['application/*'], maxFileSize: '1MiB' },
        { origin: '127.0.0.1/no-ranges', contentTypes: ['text/*'] },
        { origin: '127.0.0.1/private', refuseContentTypes: ['application/octet-stream'] },
      ],
    });
    const small = { size: 200_000 };
    const large = { size: 2_000_000 };
    const asked: [string, string][] = [
      [origin.url('none', small), 'ok'],
      [origin.url('none', large), 'file-too-large'],
      [origin.url('no-ranges', small), 'content-type-refused'],
      [origin.url('private', small), 'content-type-refused'],
      // The rules also hold for files that the edge already knows.
      [origin.url('none', large), 'file-too-large'],
      [origin.url('no-ranges', small), 'content-type-refused'],
    ];
    for (const [url, code] of asked)
      expect([url, await outcome(e.prefixed(url))]).toEqual([url, code]);
    const head = await fetchAll(e.prefixed(origin.url('none', large)), { method: 'HEAD' });
    expect([head.status, head.body.length]).toEqual([403, 0]);
  });

  test('cut off a file of unknown length that is too large', async () => {
    const e = await stage.start({ origins: [{ origin: '127.0.0.1', maxFileSize: '1MiB' }] });
    const url = (size: number) => origin.url('chunked-whole', { size });
    const got = await fetchAll(e.prefixed(url(2_000_000)));
    expect(got.complete && got.status === 200).toBe(false);
    expect(got.body.length).toBeLessThan(2_000_000);
  });

  test('hold for the target of a redirect', async () => {
    const { port } = new URL(origin.url('none'));
    const here = `127.0.0.1:${port}`;
    const e = await stage.start({
      origins: [{ origin: `${here}/redirect` }, { origin: `${here}/none`, maxFileSize: '1MiB' }],
    });
    expect(await outcome(e.prefixed(origin.url('redirect', { size: 100_000 })))).toBe('ok');
    const large = e.prefixed(origin.url('redirect', { size: 2_000_000 }));
    expect(await outcome(large)).toBe('file-too-large');
    await stage.write({ origins: [{ origin: `${here}/redirect` }] });
    e.child.kill('SIGHUP');
    await until(() => e.log.some((line) => line.includes('policy read again')));
    // The file is in the cache, but the target of its redirect is no longer allowed.
    expect(await outcome(e.prefixed(origin.url('redirect', { size: 100_000 })))).toBe(
      'origin-not-allowed',
    );
  });

  test('are read again on SIGHUP; an invalid file changes nothing, and the log says so', async () => {
    const e = await stage.start({ origins: [] });
    const url = e.prefixed(origin.url('none', { size: 1000 }));
    expect(await outcome(url)).toBe('origin-not-allowed');
    await stage.write('{"origins": [{"origin": "127.0.0.1", "maxSize": 1}]}');
    e.child.kill('SIGHUP');
    const complaint = () => e.log.find((line) => line.includes('the old one still holds'));
    await until(() => complaint() !== undefined);
    expect(complaint()).toMatch(/maxSize/);
    expect(await outcome(url)).toBe('origin-not-allowed');
    await stage.write({ origins: [{ origin: '127.0.0.1' }] });
    e.child.kill('SIGHUP');
    await until(() => e.log.some((line) => line.includes('policy read again')));
    expect(await outcome(url)).toBe('ok');
    await stage.write({ origins: [{ origin: '127.0.0.1', allow: false }] });
    e.child.kill('SIGHUP');
    await until(() => e.log.filter((line) => line.includes('policy read again')).length === 2);
    expect(await outcome(url)).toBe('origin-not-allowed');
  });

  test('are read by all processes of an edge', async () => {
    const e = await stage.start({ origins: [] }, '--workers', '2');
    const url = e.prefixed(origin.url('none', { size: 1000 }));
    await stage.write({ origins: [{ origin: '127.0.0.1' }] });
    e.child.kill('SIGHUP');
    await until(() => e.log.filter((line) => line.includes('policy read again')).length === 2);
    for (let i = 0; i < 4; i++) expect(await outcome(url)).toBe('ok');
  });

  test('an edge does not start with an invalid file', async () => {
    await expect(stage.start({ orgins: [] })).rejects.toThrow(/--rules-file: .*"orgins"/);
  });

  test('ignoreNoCache: clients do not decide when the origin is asked', async () => {
    const e = await stage.start({
      origins: [{ origin: '127.0.0.1' }, { origin: '127.0.0.1/one-hour', ignoreNoCache: true }],
    });
    const ask = async (url: string, headers: Record<string, string>) => {
      const before = origin.requests.length;
      expect((await fetchAll(e.prefixed(url), { headers })).digest).toBe(origin.digest(url));
      return origin.requests.length - before;
    };
    const [kept, other] = ['one-hour', 'none'].map((name) => origin.url(name, { size: 50_000 }));
    for (const url of [kept, other] as string[]) await ask(url, {});
    for (const name of ['cache-control', 'pragma']) {
      const headers = { [name]: 'no-cache' };
      expect(await ask(kept as string, headers)).toBe(0);
      expect(await ask(other as string, headers)).toBe(1);
    }
    expect(await ask(kept as string, { 'cache-control': 'max-age=0' })).toBe(0);
  });

  test('quotas survive restarts, and cut off no running transfer', async () => {
    const quota = { bytes: '100K', per: '366d' };
    const options = ['--cache-dir', join(stage.folder, 'cache')];
    let e = await stage.start({ origins: [{ origin: '127.0.0.1', quota }] }, ...options);
    const url = origin.url('none', { size: 300_000, seed: 'quota' });
    expect((await fetchAll(e.prefixed(url))).digest).toBe(origin.digest(url));
    for (let starts = 0; starts < 2; starts++) {
      const got = await fetchAll(e.prefixed(url));
      expect(got.status).toBe(503);
      expect(JSON.parse(got.body.toString())).toMatchObject({ code: 'quota-exhausted' });
      expect(Number(got.headers['retry-after'])).toBeGreaterThan(0);
      await e.stop();
      e = await stage.startEdge('--rules-file', stage.rulesFile, ...options);
    }
  });

  test('under a rate, kept and tunnelled files arrive intact', async () => {
    const e = await stage.start({ origins: [{ origin: '127.0.0.1', rate: '4MiB/s' }] });
    for (const fault of ['none', 'no-ranges']) {
      const url = origin.url(fault, { size: 5_000_000, seed: 'rate' });
      expect((await fetchAll(e.prefixed(url))).digest).toBe(origin.digest(url));
    }
  });
});

test('a tunnel ends when its client leaves, and the origin is read no further', async () => {
  let closed = false;
  const endless = createServer((_req, res) => {
    res.writeHead(200, { 'content-type': 'application/octet-stream' });
    const more = () => {
      while (!res.destroyed && res.write(Buffer.alloc(65_536)));
    };
    res.on('drain', more);
    res.on('close', () => {
      closed = true;
    });
    more();
  });
  await once(endless.listen(0, '127.0.0.1'), 'listening');
  try {
    const e = await stage.start({ origins: [{ origin: '127.0.0.1' }] });
    const url = `http://127.0.0.1:${(endless.address() as AddressInfo).port}/endless`;
    const controller = new AbortController();
    const got = fetchAll(e.prefixed(url), { signal: controller.signal }).catch(() => undefined);
    await until(async () => (await e.status()).bytes.toClients > 100_000);
    controller.abort();
    await got;
    await until(async () => closed && (await e.status()).transfers.active === 0);
  } finally {
    endless.closeAllConnections();
    endless.close();
  }
});
