/** Rules per origin, and links that publishers sign. */

import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readdir, rename, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { signLink } from '@millrace/shared/node/link-signature';
import { type FetchOptions, fetchAll } from '../../fixtures/clients/http-client.ts';
import { FaultOrigin } from '../../fixtures/faults/fault-origin.ts';
import { Cluster, racesOf } from '../../fixtures/programs/cluster.ts';
import { EdgeProcess, runCli, temporaryFolder } from '../../fixtures/programs/processes.ts';
import { until } from '../../fixtures/until.ts';

const SECRET = 'a secret of publishers';
const origin = await FaultOrigin.start();
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let edge: EdgeProcess | undefined;
let cluster: Cluster | undefined;

beforeAll(async () => {
  folder = await temporaryFolder();
  await writeFile(join(folder.path, 'secrets'), `${SECRET}\n`);
});
afterEach(async () => {
  await edge?.stop('SIGKILL');
  await cluster?.stop();
  edge = undefined;
  cluster = undefined;
});
afterAll(async () => {
  await origin.stop();
  await folder.remove();
});

const rulesFile = () => join(folder.path, 'rules.json');
const secretFile = () => join(folder.path, 'secrets');

/** Writes the rules file atomically, as a careful operator does. */
async function write(rules: object | string): Promise<void> {
  const text = typeof rules === 'string' ? rules : JSON.stringify(rules);
  await writeFile(`${rulesFile()}.new`, text);
  await rename(`${rulesFile()}.new`, rulesFile());
}

async function start(rules: object, ...options: string[]): Promise<EdgeProcess> {
  await write(rules);
  edge = await EdgeProcess.start([
    '--rules-file',
    rulesFile(),
    '--chunk-size',
    '64KiB',
    ...options,
  ]);
  return edge;
}

/** Returns the code of the problem that a request meets, `reset` for a cut-off body, or `ok`. */
async function outcome(url: string, options: FetchOptions = {}): Promise<string> {
  const got = await fetchAll(url, options);
  if (!got.complete) return 'reset';
  return got.status < 400 ? 'ok' : (JSON.parse(got.body.toString()) as { code: string }).code;
}

/** Returns a link like that of `millrace edge sign`, without the time that a process takes. */
function sign(url: string, { seconds = 3600, secret = SECRET } = {}): string {
  const expires = Math.ceil(Date.now() / 1000) + seconds;
  const permit = signLink(new URL(url), expires, false, secret);
  return `${(edge as EdgeProcess).url}/-/signed/${permit}/${url}`;
}

/** Returns a link that the command line has signed. */
async function signed(url: string, ...options: string[]): Promise<string> {
  const at = ['--edge', (edge as EdgeProcess).url, '--secret-file', secretFile()];
  const done = await runCli(['edge', 'sign', url, ...at, ...options]);
  expect(done).toMatchObject({ code: 0, stderr: '' });
  return done.stdout.trim();
}

describe('rules per origin', () => {
  test('say which types are served, and how large files may be', async () => {
    const e = await start({
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
    const e = await start({ origins: [{ origin: '127.0.0.1', maxFileSize: '1MiB' }] });
    const url = (size: number) => origin.url('chunked-whole', { size });
    const got = await fetchAll(e.prefixed(url(2_000_000)));
    expect(got.complete && got.status === 200).toBe(false);
    expect(got.body.length).toBeLessThan(2_000_000);
  });

  test('hold for the target of a redirect', async () => {
    const { port } = new URL(origin.url('none'));
    const here = `127.0.0.1:${port}`;
    const e = await start({
      origins: [{ origin: `${here}/redirect` }, { origin: `${here}/none`, maxFileSize: '1MiB' }],
    });
    expect(await outcome(e.prefixed(origin.url('redirect', { size: 100_000 })))).toBe('ok');
    const large = e.prefixed(origin.url('redirect', { size: 2_000_000 }));
    expect(await outcome(large)).toBe('file-too-large');
    await write({ origins: [{ origin: `${here}/redirect` }] });
    e.child.kill('SIGHUP');
    await until(() => e.log.some((line) => line.includes('policy read again')));
    // The file is in the cache, but the target of its redirect is no longer allowed.
    expect(await outcome(e.prefixed(origin.url('redirect', { size: 100_000 })))).toBe(
      'origin-not-allowed',
    );
  });

  test('are read again on SIGHUP; an invalid file changes nothing, and the log says so', async () => {
    const e = await start({ origins: [] });
    const url = e.prefixed(origin.url('none', { size: 1000 }));
    expect(await outcome(url)).toBe('origin-not-allowed');
    await write('{"origins": [{"origin": "127.0.0.1", "maxSize": 1}]}');
    e.child.kill('SIGHUP');
    const complaint = () => e.log.find((line) => line.includes('the old one still holds'));
    await until(() => complaint() !== undefined);
    expect(complaint()).toMatch(/maxSize/);
    expect(await outcome(url)).toBe('origin-not-allowed');
    await write({ origins: [{ origin: '127.0.0.1' }] });
    e.child.kill('SIGHUP');
    await until(() => e.log.some((line) => line.includes('policy read again')));
    expect(await outcome(url)).toBe('ok');
    await write({ origins: [{ origin: '127.0.0.1', allow: false }] });
    e.child.kill('SIGHUP');
    await until(() => e.log.filter((line) => line.includes('policy read again')).length === 2);
    expect(await outcome(url)).toBe('origin-not-allowed');
  });

  test('are read by all processes of an edge', async () => {
    const e = await start({ origins: [] }, '--workers', '2');
    const url = e.prefixed(origin.url('none', { size: 1000 }));
    await write({ origins: [{ origin: '127.0.0.1' }] });
    e.child.kill('SIGHUP');
    await until(() => e.log.filter((line) => line.includes('policy read again')).length === 2);
    for (let i = 0; i < 4; i++) expect(await outcome(url)).toBe('ok');
  });

  test('an edge does not start with an invalid file', async () => {
    await expect(start({ orgins: [] })).rejects.toThrow(/--rules-file: .*"orgins"/);
  });

  test('ignoreNoCache: clients do not decide when the origin is asked', async () => {
    const e = await start({
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
    const options = ['--cache-dir', join(folder.path, 'cache')];
    let e = await start({ origins: [{ origin: '127.0.0.1', quota }] }, ...options);
    const url = origin.url('none', { size: 300_000, seed: 'quota' });
    expect((await fetchAll(e.prefixed(url))).digest).toBe(origin.digest(url));
    for (let starts = 0; starts < 2; starts++) {
      const got = await fetchAll(e.prefixed(url));
      expect(got.status).toBe(503);
      expect(JSON.parse(got.body.toString())).toMatchObject({ code: 'quota-exhausted' });
      expect(Number(got.headers['retry-after'])).toBeGreaterThan(0);
      await e.stop();
      e = await EdgeProcess.start(['--rules-file', rulesFile(), ...options]);
      edge = e;
    }
  });

  test('under a rate, kept and tunnelled files arrive intact', async () => {
    const e = await start({ origins: [{ origin: '127.0.0.1', rate: '4MiB/s' }] });
    for (const fault of ['none', 'no-ranges']) {
      const url = origin.url(fault, { size: 5_000_000, seed: 'rate' });
      expect((await fetchAll(e.prefixed(url))).digest).toBe(origin.digest(url));
    }
  });
});

describe('signed links', () => {
  const signedOnly = { origins: [{ origin: '127.0.0.1', allow: 'signed' }] };
  const start2 = () => start(signedOnly, '--link-secret-file', secretFile());

  test('bring the file to ordinary clients, and to nobody without a link', async () => {
    const e = await start2();
    const url = origin.url('one-hour', {
      seed: 'signed',
      name: 'some file.iso'.replace(' ', '%20'),
    });
    expect(await outcome(e.prefixed(url))).toBe('origin-not-allowed');
    const link = await signed(url);
    const got = await fetchAll(link, { headers: { range: 'bytes=0-' } });
    expect([got.status, got.digest]).toEqual([206, origin.digest(url)]);
    // A file that a signed link has brought into the cache still needs a link.
    expect(await outcome(e.prefixed(url))).toBe('origin-not-allowed');
    // Programs save the file under its own name.
    expect(decodeURIComponent(new URL(link).pathname.split('/').at(-1) ?? '')).toBe(
      'some file.iso',
    );
    await runCli(['get', link, '-d', folder.path, '--quiet']);
    expect((await fetchAll(link)).headers['cache-status']).toMatch(/hit/);
    expect(await readdir(folder.path)).toContain('some file.iso');
  });

  test('cover the query, expire, and cannot be changed', async () => {
    const e = await start2();
    const url = origin.url('none', { size: 1000, seed: 'cover' });
    const link = sign(url);
    expect(await outcome(link)).toBe('ok');
    expect(await outcome(`${link}&x=1`)).toBe('link-invalid');
    expect(await outcome(link.replace('cover', 'other'))).toBe('link-invalid');
    expect(await outcome(link.replace('/-/signed/', '/-/signed/1'))).toBe('link-invalid');
    expect(await outcome(link.replace('file.bin', 'x/../file.bin'))).toBe('ok');
    expect(await outcome(sign(url, { seconds: -1 }))).toBe('link-expired');
    const soon = sign(url, { seconds: 1 });
    await until(async () => (await outcome(soon)) === 'link-expired');
    expect(await outcome(`${e.url}/-/signed/x/${url}`)).toBe('link-invalid');
    expect(await outcome(`${e.url}/-/signed/`)).toBe('link-invalid');
  });

  test('can cover everything below a URL', async () => {
    const e = await start2();
    const { host } = origin;
    const link = await signed(`http://${host}/none/`, '--below');
    expect(await outcome(`${link}a.bin?size=1000&seed=a`)).toBe('ok');
    expect(await outcome(`${link}deep/b.bin?size=1000&seed=b`)).toBe('ok');
    for (const path of [
      '../one-hour/x',
      '..%2fone-hour/x',
      '%2e%2e/one-hour/x',
      '..;/one-hour/x',
    ]) {
      expect([path, await outcome(`${link}${path}?size=1000&seed=x`)]).toEqual([
        path,
        'link-invalid',
      ]);
    }
    const permit = /\/-\/signed\/[^/]+/.exec(link)?.[0];
    expect(await outcome(`${e.url}${permit}/http://${host}/one-hour/x?size=9&seed=x`)).toBe(
      'link-invalid',
    );
  });

  test('do not lead into the operator’s network', async () => {
    edge = await EdgeProcess.start(['--link-secret-file', secretFile()]);
    origin.reset();
    const link = sign(origin.url('none'));
    expect(await outcome(link)).toBe('private-address');
    // The advice opens the server to holders of links, and only then to everybody.
    expect((await (await fetch(link)).json()).detail).toMatch(
      /"allow": "signed" for holders of a signed link only.*--allow-origin for everybody/,
    );
    expect(
      await outcome(sign(`http://2130706433:${new URL(origin.url('none')).port}/none/x`)),
    ).toBe('private-address');
    expect(await outcome(sign('http://8.8.8.8:25/x'))).toBe('origin-not-allowed');
    expect(origin.requests).toHaveLength(0);
    expect(edge.log.join()).not.toMatch(/will serve nothing/);
  });

  test('do not follow a redirect to a private address', async () => {
    const { port } = new URL(origin.url('none'));
    const rules = { origins: [{ origin: `127.0.0.1:${port}/redirect-to-name`, allow: 'signed' }] };
    await start(rules, '--link-secret-file', secretFile());
    const link = sign(origin.url('redirect-to-name'));
    expect(await outcome(link)).toBe('private-address');
  });

  test('survive a change of secrets while the edge knows both', async () => {
    const e = await start2();
    const url = origin.url('none', { size: 1000, seed: 'rotation' });
    const old = sign(url);
    const reload = async (text: string) => {
      e.log.length = 0;
      await writeFile(secretFile(), text);
      e.child.kill('SIGHUP');
      await until(() => e.log.some((line) => line.includes('--link-secret-file')));
    };
    const secret = 'another secret of them';
    await reload(`${secret}\n${SECRET}\n`);
    const fresh = sign(url, { secret });
    expect([await outcome(old), await outcome(fresh)]).toEqual(['ok', 'ok']);
    await reload(`${secret}\n`);
    expect([await outcome(old), await outcome(fresh)]).toEqual(['link-invalid', 'ok']);
    await reload('short\n');
    await e.logged(/the old one still holds/);
    await reload(`${SECRET}\n`);
    expect(await outcome(old)).toBe('ok');
  });

  test('work at all nodes of a network, wherever the chunks are', async () => {
    await write(signedOnly);
    const policy = ['--rules-file', rulesFile(), '--link-secret-file', secretFile()];
    const options = [...policy, '--chunk-size', '64KiB'];
    cluster = await Cluster.start({ nodes: 3, options });
    edge = cluster.node(0).edge;
    const url = origin.url('redirect', { seed: 'network' });
    const link = sign(url);
    const path = link.slice(edge.url.length);
    origin.reset();
    for (const node of cluster.nodes) {
      expect((await fetchAll(`${node.edge.url}${path}`)).digest).toBe(origin.digest(url));
      expect(await outcome(node.edge.prefixed(url))).toBe('origin-not-allowed');
    }
    expect(await cluster.sum((status) => status.forwards.all)).toBeGreaterThan(0);
    expect(await cluster.sum((status) => status.forwards.failed)).toBe(0);
    const races = await racesOf(cluster.nodes.map((node) => node.edge));
    const { length } = origin.content(url);
    expect(origin.sentBytes).toBeGreaterThanOrEqual(length);
    expect(origin.sentBytes).toBeLessThanOrEqual(length + races * 65_536);
  });

  test('are refused as such by an edge without secrets, which says what to do', async () => {
    const e = await start(signedOnly);
    const link = `${e.url}/-/signed/1.x/${origin.url('none')}`;
    expect(await outcome(link)).toBe('no-signed-links');
    const { title, detail } = await (await fetch(link)).json();
    expect(`${title}. ${detail}`).toMatch(/takes no signed links.*--link-secret-file/);
  });

  test('can be made by the openssl recipe', async () => {
    const e = await start2();
    const url = origin.url('none', { size: 1000, seed: 'openssl' });
    const recipe = String.raw`
expires=$(( $(date +%s) + 604800 ))
signature=$(printf 'millrace-link-1 url\n%s\n%s' "$expires" "$url" |
  openssl dgst -sha256 -hmac "$(head -n 1 "$secret_file")" -binary | openssl base64 -A | tr '+/' '-_' | tr -d =)
echo "/-/signed/$expires.$signature/$url"`;
    const env = { ...process.env, url, secret_file: secretFile() };
    const { stdout } = await promisify(execFile)('sh', ['-c', recipe], { env });
    expect(await outcome(e.url + stdout.trim())).toBe('ok');
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
    const e = await start({ origins: [{ origin: '127.0.0.1' }] });
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
