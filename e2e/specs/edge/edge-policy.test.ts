/** Refusals of an edge, by request and by client. */

import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import { type FetchOptions, fetchAll, openResponse } from '../../fixtures/clients/http-client.ts';
import { FaultOrigin } from '../../fixtures/faults/fault-origin.ts';
import { NAMES_FOR_NODE, named } from '../../fixtures/origins/public-names.ts';
import { checkUrl } from '../../fixtures/pages/edge-pages.ts';
import { EdgeProcess, temporaryFolder } from '../../fixtures/programs/processes.ts';
import { until } from '../../fixtures/until.ts';

const origin = await FaultOrigin.start();
const port = Number(new URL(origin.url('none')).port);
const edges: EdgeProcess[] = [];
/** An edge that serves this machine, for the tests that leave it as they found it. */
const open = await EdgeProcess.start(['--allow-origin', '127.0.0.1'], NAMES_FOR_NODE);

/** Starts an edge that ends with the test, for which names below "example" lead to this machine. */
async function start(...options: string[]): Promise<EdgeProcess> {
  const edge = await EdgeProcess.start(options, NAMES_FOR_NODE);
  edges.push(edge);
  return edge;
}

/** Returns the code of the problem that a request meets, or `ok`. */
async function outcome(url: string, options: FetchOptions = {}): Promise<string> {
  const got = await fetchAll(url, options);
  if (got.status < 400) return 'ok';
  return (JSON.parse(got.body.toString()) as { code: string }).code;
}

afterEach(async () => {
  for (const edge of edges.splice(0)) await edge.stop('SIGKILL');
});
afterAll(() => Promise.all([open.stop('SIGKILL'), origin.stop()]));

describe('the allow-list', () => {
  test('is empty by default: nothing is served, and the log says so', async () => {
    const e = await start();
    expect(await outcome(e.prefixed(origin.url('none')))).toBe('origin-not-allowed');
    await e.logged(/will serve nothing/);
  });

  test('holds for hosts, ports and path prefixes', async () => {
    const e = await start('--allow-origin', `127.0.0.1:${port}/none`);
    expect(await outcome(e.prefixed(origin.url('none')))).toBe('ok');
    expect(await outcome(e.prefixed(origin.url('one-hour')))).toBe('origin-not-allowed');
    expect(await outcome(e.prefixed(`http://127.0.0.1:${port}/nonesuch`))).toBe(
      'origin-not-allowed',
    );
    expect(await outcome(e.prefixed(`http://127.0.0.1:${port}/none/../one-hour/x`))).toBe(
      'origin-not-allowed',
    );
    expect(await outcome(e.prefixed('http://127.0.0.1:1/none'))).toBe('origin-not-allowed');
  });

  test('holds for every redirect', async () => {
    const e = await start('--allow-origin', `127.0.0.1:${port}/redirect`);
    expect(await outcome(e.prefixed(origin.url('redirect')))).toBe('origin-not-allowed');
  });
});

describe('private addresses', () => {
  const literals = [
    `http://127.0.0.1:${port}`,
    `http://2130706433:${port}`,
    `http://0x7f.1:${port}`,
    `http://0177.0.0.1:${port}`,
    `http://[::ffff:127.0.0.1]:${port}`,
    `http://[::1]:${port}`,
    'http://169.254.169.254',
    'http://10.0.0.1',
    'http://192.168.1.1',
    'http://[fd00::1]',
    'http://0.0.0.0',
  ];
  test('in every notation, and by name, are out of reach of "any public origin"', async () => {
    const e = await start('--allow-origin', '*');
    origin.reset();
    for (const base of [...literals, `http://localhost:${port}`]) {
      expect([base, await outcome(e.prefixed(`${base}/none/file.bin`))]).toEqual([
        base,
        'private-address',
      ]);
    }
    expect(origin.requests).toHaveLength(0);
  });

  test('are out of reach of redirects too', async () => {
    const e = await start('--allow-origin', '*', '--allow-origin', '127.0.0.1');
    const url = origin.url('redirect-to-name');
    expect(await outcome(e.prefixed(url))).toBe('private-address');
  });

  test('can be listed by name', async () => {
    const e = await start('--allow-origin', 'localhost');
    expect(await outcome(e.prefixed(`http://localhost:${port}/none/file.bin`))).toBe('ok');
    expect(await outcome(e.prefixed(origin.url('none')))).toBe('origin-not-allowed');
  });

  test('are refused at ports of other protocols even when listed', async () => {
    expect(await outcome(open.prefixed('http://127.0.0.1:25/x'))).toBe('origin-not-allowed');
  });
});

describe('an edge for one user', () => {
  test('reaches no private address that is not listed, even with the local token', async () => {
    const folder = await temporaryFolder();
    const tokenFile = join(folder.path, 'state', 'token');
    const any = await start('--allow-origin', '*', '--local-token-file', tokenFile);
    const token = (await readFile(tokenFile, 'utf8')).trim();
    expect((await stat(tokenFile)).mode & 0o077).toBe(0);
    const headers = { 'x-millrace-token': token };
    const url = origin.url('one-hour', { seed: 'local' });
    for (const at of [url, named(url, 'localhost'), named(url)]) {
      expect(await outcome(any.prefixed(at), { headers })).toBe('private-address');
    }
    const listed = await start('--allow-origin', 'files.example', '--local-token-file', tokenFile);
    const got = await fetchAll(listed.prefixed(named(url)), { headers });
    expect(got.digest).toBe(origin.digest(url));
    await folder.remove();
  });

  test('serves unlisted origins only for requests with the local token', async () => {
    const folder = await temporaryFolder();
    const tokenFile = join(folder.path, 'token');
    const e = await start('--allow-origin', 'other.example', '--local-token-file', tokenFile);
    const token = (await readFile(tokenFile, 'utf8')).trim();
    const url = e.prefixed(named(origin.url('one-hour')));
    const withToken = (given: string) => outcome(url, { headers: { 'x-millrace-token': given } });
    expect(await outcome(url)).toBe('origin-not-allowed');
    expect(await withToken('x'.repeat(token.length))).toBe('origin-not-allowed');
    // The request has passed the list: the edge checks the address next.
    expect(await withToken(token)).toBe('private-address');
    await folder.remove();
  });

  test('refuses requests for a name that a web page has rebound to it', async () => {
    const folder = await temporaryFolder();
    const e = await start('--allow-origin', '*', '--local-token-file', join(folder.path, 'token'));
    const headers = { host: `evil.example:${new URL(e.url).port}` };
    expect(await outcome(e.prefixed('http://example.com/x'), { headers })).toBe('not-a-proxy');
    // The pages check no link for it either.
    const rebound = { headers: { host: 'rebound.example' } };
    for (const path of ['/', '/-/metalink?link=http://a.example/', '/-/dashboard']) {
      expect((await fetchAll(e.url + path, rebound)).status).toBe(421);
    }
    const { body } = await fetchAll(checkUrl(e, origin.url('none')));
    expect(body.toString()).toContain('The origin is at a private address');
    await folder.remove();
  });
});

describe('inside requests and loops', () => {
  test('requests of the inside protocol are refused', async () => {
    const name = `${open.prefixed(origin.url('none'))},start=0,end=65535`;
    expect(await outcome(name, { headers: { 'x-bigfile': '1' } })).toBe('inside-request-refused');
  });

  test('an edge put before itself ends the loop', async () => {
    const twice = open.prefixed(open.prefixed(origin.url('none')));
    expect((await fetchAll(twice)).status).toBe(502);
    await open.logged(/loop-detected/);
  });
});

describe('limits per client', () => {
  test('refuse one transfer more than may run at a time', async () => {
    const e = await start('--allow-origin', '127.0.0.1', '--client-transfers', '2');
    origin.reset();
    const held = [1, 2].map((i) => origin.url('gate', { seed: `limit-${i}` }));
    const responses = await Promise.all(held.map((url) => openResponse(e.prefixed(url))));
    const third = await fetchAll(e.prefixed(origin.url('none')));
    expect(third.status).toBe(429);
    expect(Number(third.headers['retry-after'])).toBeGreaterThan(0);
    for (const response of responses) response.destroy();
    await until(async () => (await e.status()).transfers.active === 0);
    expect(await outcome(e.prefixed(origin.url('none')))).toBe('ok');
  });

  test('refuse requests beyond the rate per second', async () => {
    const e = await start('--allow-origin', '127.0.0.1', '--client-requests', '1');
    const url = e.prefixed(origin.url('none', { size: 1000 }));
    const answers = await Promise.all(Array.from({ length: 20 }, () => fetchAll(url)));
    expect(answers.filter((a) => a.status === 200).length).toBeGreaterThanOrEqual(5);
    const refused = answers.filter((a) => a.status === 429);
    expect(refused.length).toBeGreaterThan(5);
    expect(refused[0]?.headers['content-type']).toBe('application/problem+json');
  });

  test('on bytes per second leave every byte right', async () => {
    const e = await start('--allow-origin', '127.0.0.1', '--client-rate', '2MiB/s');
    const url = origin.url('none', { seed: 'rate', size: 4_000_000 });
    expect((await fetchAll(e.prefixed(url))).digest).toBe(origin.digest(url));
  });

  test('on bytes per second: a client that leaves while it is delayed leaves no chunk behind', async () => {
    const options = ['--client-rate', '1KiB/s', '--cache-memory', '1MiB'];
    const e = await start('--allow-origin', '127.0.0.1', ...options);
    const leave = new AbortController();
    const clients = Array.from({ length: 8 }, (_, i) => {
      const url = e.prefixed(origin.url('none', { seed: `left-${i}`, size: 4_000_000 }));
      return openResponse(url, { signal: leave.signal }).then((response) => {
        response.on('error', () => {});
      });
    });
    await until(async () => (await e.status()).admission.rate?.delayed === clients.length);
    expect((await e.status()).memory.shares.chunksInFlight).toBeGreaterThan(0);
    leave.abort();
    await Promise.allSettled(clients);
    // The delays themselves would take many minutes.
    await until(async () => {
      const { memory, transfers } = await e.status();
      return memory.shares.chunksInFlight === 0 && transfers.active === 0;
    });
  });
});

describe('settings', () => {
  test.each([
    [['--chunk-size', '100K'], /--chunk-size: must be a power of two/],
    [['--allow-origin', 'http://'], /--allow-origin: "http:\/\/" is not an origin/],
    [['--prot', '1'], /unknown option '--prot'[\s\S]*--port/],
    [['--port', '70000'], /--port: must be at most 65535/],
    [['--config', '/does/not/exist'], /configuration file .* cannot be read/],
    [['surplus'], /too many arguments/],
  ])('%j is refused at the start with the reason', async (options, reason) => {
    await expect(EdgeProcess.start(options)).rejects.toThrow(reason);
  });

  test('come from a file, the environment and flags, in rising precedence', async () => {
    const folder = await temporaryFolder();
    const file = join(folder.path, 'edge.yaml');
    await writeFile(file, 'name: from-file\nallow-origin: [127.0.0.1]\nchunk-size: 64KiB\n');
    const env = { MILLRACE_EDGE_NAME: 'from-environment' };
    let edge = await EdgeProcess.start(['--config', file], env);
    const got = await fetchAll(edge.prefixed(origin.url('none')));
    expect(got.headers.via).toBe('1.1 from-environment');
    await edge.stop();
    edge = await EdgeProcess.start(['--config', file, '--name', 'from-flag'], env);
    edges.push(edge);
    expect((await fetchAll(edge.prefixed(origin.url('none')))).headers.via).toBe('1.1 from-flag');
    await writeFile(file, 'nmae: x\n');
    await expect(EdgeProcess.start(['--config', file])).rejects.toThrow(/nmae.*Did you mean name/);
    await folder.remove();
  });
});

describe('SIGTERM', () => {
  test('lets running transfers finish, takes no new ones, and exits with 0', async () => {
    const e = await start('--allow-origin', '127.0.0.1', '--grace', '30s');
    origin.reset();
    const url = origin.url('gate', { seed: 'graceful' });
    const running = fetchAll(e.prefixed(url));
    await until(() => origin.waiting > 0);
    const stopped = e.stop('SIGTERM');
    await until(() => e.log.some((line) => line.includes('shutting down')));
    await expect(fetchAll(e.prefixed(origin.url('none')))).rejects.toThrow(/ECONNREFUSED/);
    origin.openGate();
    expect((await running).digest).toBe(origin.digest(url));
    expect(await stopped).toBe(0);
  });

  test('resets transfers that have not finished within the grace time, and exits with 0', async () => {
    const e = await start('--allow-origin', '127.0.0.1', '--grace', '100ms');
    origin.reset();
    const running = fetchAll(e.prefixed(origin.url('gate', { seed: 'reset' })));
    await until(() => origin.waiting > 0);
    expect(await e.stop('SIGTERM')).toBe(0);
    expect((await running).complete).toBe(false);
  });
});

describe('the edge\u2019s own endpoints', () => {
  test('report health and figures, and explain how to use the edge', async () => {
    const e = await start('--allow-origin', '127.0.0.1');
    await fetchAll(e.prefixed(origin.url('none', { size: 1000 })));
    expect(await (await fetch(`${e.url}/-/live`)).json()).toMatchObject({ live: true });
    expect((await fetch(`${e.url}/-/ready`)).status).toBe(200);
    expect((await e.status()).bytes).toMatchObject({ toClients: 1000, fromOrigins: 1000 });
    const metrics = await (await fetch(`${e.url}/-/metrics`)).text();
    expect(metrics).toMatch(/^millrace_client_bytes_total 1000$/m);
    expect(metrics).toMatch(/^millrace_chunks_total\{tier="(memory|source)"\} 1$/m);
    const page = await fetch(e.url);
    expect(page.headers.get('content-security-policy')).toMatch(/default-src 'none'/);
    expect(await page.text()).toMatch(/Put its address before the URL/);
  });

  test('the log has one line per transfer, without the query', async () => {
    const e = await start('--allow-origin', '127.0.0.1');
    await fetchAll(e.prefixed(`${origin.url('none', { size: 1000 })}&token=secret`));
    await until(() => e.log.some((line) => line.includes('"transfer"')));
    expect(e.log.join()).not.toMatch(/secret/);
  });

  test('a log that nobody reads any more does not hold up the edge', async () => {
    const e = await start('--allow-origin', '127.0.0.1');
    e.child.stderr?.destroy();
    e.child.stdout?.destroy();
    const url = origin.url('none', { seed: 'unread' });
    for (let i = 0; i < 3; i++) {
      expect((await fetchAll(e.prefixed(url))).digest).toBe(origin.digest(url));
    }
    expect(await e.stop('SIGTERM')).toBe(0);
  });
});
