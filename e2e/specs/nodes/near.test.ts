/** Clients that know no edge are sent to the nearest one, and people see which edges there are. */

import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { signLink } from '@millrace/shared/node/link-signature';
import { geoDatabase } from '@millrace/shared/testing/geo-database';
import { fetchAll } from '../../fixtures/clients/http-client.ts';
import { FaultOrigin } from '../../fixtures/faults/fault-origin.ts';
import { sha256 } from '../../fixtures/origins/content.ts';
import { Cluster, type ClusterOptions, type Node } from '../../fixtures/programs/cluster.ts';
import { DaemonCli } from '../../fixtures/programs/daemon-cli.ts';
import { EdgeProcess, runCli, temporaryFolder } from '../../fixtures/programs/processes.ts';
import { becomes, until } from '../../fixtures/until.ts';

const OPTIONS = ['--allow-origin', '127.0.0.1', '--cache-memory', '64MiB', '--log-level', 'warn'];
const SECRET = 'a secret for signed links';
const TOKEN = 'token of the administrator';
/** Answers that are looked at where an edge must never be chosen. */
const MANY = 60;
const BERLIN = { latitude: 52.5, longitude: 13.4 };
const SYDNEY = { latitude: -33.9, longitude: 151.2 };

let origin: FaultOrigin;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let cluster: Cluster | undefined;
let alone: EdgeProcess | undefined;

beforeAll(async () => {
  [origin, folder] = await Promise.all([FaultOrigin.start(), temporaryFolder()]);
  await writeFile(join(folder.path, 'secret'), SECRET);
  await writeFile(join(folder.path, 'token'), TOKEN);
});

beforeEach(() => origin.reset());

afterEach(async () => {
  origin.openGate();
  await cluster?.stop();
  await alone?.stop('SIGKILL');
  cluster = alone = undefined;
});

afterAll(async () => {
  await Promise.all([origin.stop(), folder.remove()]);
});

/** Nodes that name each other to clients. */
const REACHED = { options: OPTIONS, proxies: true, publicUrls: true };

/** Starts a network that ends with the test. */
async function start(nodes: number, more: Partial<ClusterOptions> = {}): Promise<Cluster> {
  cluster = await Cluster.start({ nodes, ...REACHED, ...more });
  return cluster;
}

const publicUrl = ({ proxy }: Node) => `http://127.0.0.1:${proxy?.port}`;
const near = (edge: EdgeProcess, target: string) => `${edge.url}/-/near/${target}`;

/** Returns the edges that an answer names: the one it redirects to, then the others. */
async function named(
  edge: EdgeProcess,
  target: string,
  headers: Record<string, string> = {},
): Promise<string[]> {
  const answer = await fetchAll(near(edge, target), { headers });
  expect([answer.status, answer.body.length]).toEqual([307, 0]);
  const { location = '', link = '' } = answer.headers;
  const others = [...String(link).matchAll(/<([^>]*)>; rel=duplicate; pri=\d+/g)];
  const all = [location, ...others.map(([, url = '']) => url)];
  for (const url of all) expect(url.endsWith(`/${target}`)).toBe(true);
  return all.map((url) => url.slice(0, -target.length - 1));
}

/** Runs curl as people do. @returns SHA-256 of the saved file */
async function curl(...args: string[]): Promise<string> {
  const output = join(folder.path, 'curl');
  await promisify(execFile)('curl', ['-sS', '--fail', '-L', '-o', output, ...args]);
  return sha256(await readFile(output));
}

describe('the nearest edge of three', () => {
  let three: Cluster;
  beforeAll(async () => {
    three = await Cluster.start({ nodes: 3, ...REACHED });
  });
  afterAll(() => three?.stop());

  test('is one of the network, the others are named, and curl gets the file, a part and a header', async () => {
    const { nodes } = three;
    const url = origin.url('none', { seed: 'near' });
    const [asked] = nodes as [Node];
    const all = nodes.map(publicUrl).toSorted();
    expect((await named(asked.edge, url)).toSorted()).toEqual(all);
    for (const { edge } of nodes) expect(await curl(near(edge, url))).toBe(origin.digest(url));
    const part = origin.content(url).subarray(1000, 50_001);
    expect(await curl('-r', '1000-50000', near(asked.edge, url))).toBe(sha256(part));
    const head = await fetchAll(near(asked.edge, url), { method: 'HEAD' });
    expect([head.status, head.headers['cache-control'], head.body.length]).toEqual([
      307,
      'no-store',
      0,
    ]);
    expect(all.map((edge) => `${edge}/${url}`)).toContain(head.headers.location);
  });

  test('is never one that has died', async () => {
    const { nodes } = three;
    const [asked, dead, left] = nodes as [Node, Node, Node];
    const url = origin.url('none', { seed: 'dead' });
    await dead.edge.stop('SIGKILL');
    await until(async () => !(await named(asked.edge, url)).includes(publicUrl(dead)));
    // A living one may be away for a moment where other programs take the processor.
    const alive = new Set([publicUrl(asked), publicUrl(left)]);
    for (let i = 0; i < MANY; i++) {
      expect((await named(asked.edge, url)).filter((edge) => !alive.has(edge))).toEqual([]);
    }
    expect(await curl(near(asked.edge, url))).toBe(origin.digest(url));
  });
});

describe('the nearest edge', () => {
  test('is never one whose policy differs: it might refuse the file', async () => {
    const { nodes } = await start(3, {
      perNode: (index) => (index === 1 ? ['--allow-origin', 'other.example'] : []),
    });
    const [asked, other, alike] = nodes as [Node, Node, Node];
    const url = origin.url('none', { seed: 'policy' });
    const both = [publicUrl(asked), publicUrl(alike)].toSorted();
    await becomes(async () => (await named(asked.edge, url)).toSorted(), both);
    for (let i = 0; i < MANY; i++) {
      expect((await named(asked.edge, url)).filter((edge) => !both.includes(edge))).toEqual([]);
    }
    expect(await named(other.edge, url)).toEqual([publicUrl(other)]);
  });

  test('has TLS if the asked edge has: nobody is led to an address without it', async () => {
    const { nodes } = await start(2, {
      perNode: (index) => (index === 0 ? ['--public-url', 'https://near.example'] : []),
    });
    const [secure, plain] = nodes as [Node, Node];
    const url = origin.url('none', { seed: 'secure' });
    for (let i = 0; i < MANY; i++)
      expect(await named(secure.edge, url)).toEqual(['https://near.example']);
    await becomes(
      async () => (await named(plain.edge, url)).toSorted(),
      [publicUrl(plain), 'https://near.example'].toSorted(),
    );
  });

  test('is another one while the asked edge drains, and none if there is no other', async () => {
    const options = [...OPTIONS, '--admin-token-file', join(folder.path, 'token')];
    const { nodes } = await start(2, { options });
    const [asked, other] = nodes as [Node, Node];
    const url = origin.url('none', { seed: 'drain' });
    const headers = { authorization: `Bearer ${TOKEN}` };
    await fetch(`${asked.edge.url}/-/drain`, { method: 'POST', headers });
    expect(await named(asked.edge, url)).toEqual([publicUrl(other)]);
    await fetch(`${other.edge.url}/-/drain`, { method: 'POST', headers });
    await until(async () => (await fetchAll(near(asked.edge, url))).status === 503);
  });

  test('is found by the places of addresses where round trips cannot be measured', async () => {
    const database = join(folder.path, 'places.mmdb');
    await writeFile(
      database,
      geoDatabase([
        ['192.0.2.0/24', BERLIN],
        ['198.51.100.0/24', SYDNEY],
        ['203.0.113.0/25', BERLIN],
        ['203.0.113.128/25', SYDNEY],
      ]),
    );
    const [berlin, sydney] = ['http://192.0.2.7:3125', 'http://198.51.100.7:3125'];
    const { nodes } = await start(2, {
      options: [...OPTIONS, '--geoip', database, '--trusted-proxy', '127.0.0.1'],
      perNode: (index) => ['--public-url', index === 0 ? berlin : sydney],
    });
    const [asked] = nodes as [Node];
    const url = origin.url('none', { seed: 'places' });
    const from = (client: string) => named(asked.edge, url, { 'x-forwarded-for': client });
    // The places of edges are looked up when they are first needed.
    await until(async () => (await from('203.0.113.200'))[0] === sydney);
    for (let i = 0; i < MANY; i++) {
      // The edge in Sydney may be away for a moment where other programs take the processor.
      const far = await from('203.0.113.200');
      if (far.length > 1) expect(far).toEqual([sydney, berlin]);
      expect((await from('203.0.113.5'))[0]).toBe(berlin);
    }
  });

  test('takes signed links, and leads on with the same signature', async () => {
    const { nodes } = await start(2, {
      options: [
        ...['--link-secret-file', join(folder.path, 'secret')],
        ...['--rules-file', await rules()],
        ...['--cache-memory', '64MiB', '--log-level', 'warn'],
      ],
    });
    const [asked] = nodes as [Node];
    const url = origin.url('none', { seed: 'signed' });
    expect((await fetchAll(near(asked.edge, url))).status).toBe(403);
    const link = (secret: string) => {
      const permit = signLink(new URL(url), Math.floor(Date.now() / 1000) + 3600, false, secret);
      return near(asked.edge, `-/signed/${permit}/${url}`);
    };
    for (let i = 0; i < 4; i++) expect(await curl(link(SECRET))).toBe(origin.digest(url));
    const forged = await fetchAll(link('a secret of somebody else'));
    expect([forged.status, JSON.parse(forged.body.toString()).code]).toEqual([403, 'link-invalid']);
  });
});

/** Writes rules by which signed links alone open the origin. */
async function rules(): Promise<string> {
  const path = join(folder.path, 'rules.json');
  await writeFile(path, JSON.stringify({ origins: [{ origin: '127.0.0.1', allow: 'signed' }] }));
  return path;
}

describe('an edge that is alone', () => {
  let edge: EdgeProcess;
  beforeAll(async () => {
    edge = await EdgeProcess.start(OPTIONS);
  });
  afterAll(() => edge?.stop('SIGKILL'));

  test('leads to itself, whatever name it was asked by', async () => {
    const url = origin.url('none', { seed: 'alone' });
    const { headers } = await fetchAll(near(edge, url), { headers: { host: 'evil.example' } });
    expect(headers).toMatchObject({ location: `/${url}` });
    expect(headers.link).toBeUndefined();
    expect(await curl(near(edge, url))).toBe(origin.digest(url));
  });

  test.each([
    ['https://evil.example/x', 403, 'origin-not-allowed'],
    ['//evil.example/x', 404, 'no-such-page'],
    ['', 404, 'no-such-page'],
    ['-/status', 404, 'no-such-page'],
    ['-/near/http://127.0.0.1/x', 404, 'no-such-page'],
    ['ftp://127.0.0.1/x', 400, 'bad-url'],
    ['http://user:password@127.0.0.1/x', 400, 'credentials-in-url'],
    ['-/signed/1.x/http://127.0.0.1/x', 403, 'no-signed-links'],
  ])('refuses /-/near/%s as it refuses the same without /-/near', async (target, status, code) => {
    const refusal = async (url: string) => {
      const answer = await fetchAll(url);
      return [answer.status, JSON.parse(answer.body.toString()).code, answer.headers.location];
    };
    expect(await refusal(near(edge, target))).toEqual([status, code, undefined]);
    if (target !== '' && !target.startsWith('-/'))
      expect(await refusal(`${edge.url}/${target}`)).toEqual([status, code, undefined]);
  });

  test('refuses other methods, and a client that asks too often', async () => {
    alone = await EdgeProcess.start([...OPTIONS, '--client-requests', '1']);
    const url = near(alone, origin.url('none', { seed: 'often' }));
    expect((await fetchAll(url, { method: 'POST' })).status).toBe(405);
    const statuses = new Set<number>();
    await until(async () => statuses.add((await fetchAll(url)).status).has(429));
    expect([...statuses].toSorted()).toEqual([307, 429]);
  });
});

interface Row {
  readonly name: string;
  readonly url: string;
  readonly rttMs?: number;
  readonly load?: number;
  readonly room?: number;
  readonly state: string;
}

describe('millrace edges', () => {
  async function rows(...args: string[]): Promise<Row[]> {
    const { code, stdout, stderr } = await runCli(['edges', ...args, '--json']);
    if (code !== 0) throw new Error(stdout + stderr);
    return JSON.parse(stdout).edges;
  }

  test('prints every edge with what is true of it', async () => {
    const { nodes } = await start(3);
    const [asked, busy, dying] = nodes as [Node, Node, Node];
    const url = origin.url('gate', { seed: 'busy' });
    // Eight transfers are one step of load.
    const held = Array.from({ length: 8 }, (_, i) => fetchAll(`${busy.edge.prefixed(url)}&n=${i}`));
    await until(async () => (await busy.edge.status()).transfers.active === 8);
    const byName = async () =>
      Object.fromEntries((await rows(publicUrl(asked))).map((row) => [row.name, row]));
    await until(async () => Number((await byName())[busy.name]?.load) >= 1);
    // Requests of the busy node for chunks are load of the others, too.
    const ready = {
      ...{ load: expect.any(Number), rttMs: expect.any(Number), room: expect.any(Number) },
      state: 'ready',
    };
    expect(await byName()).toEqual({
      [asked.name]: { name: asked.name, url: publicUrl(asked), ...ready },
      [busy.name]: { name: busy.name, url: publicUrl(busy), ...ready },
      [dying.name]: { name: dying.name, url: publicUrl(dying), ...ready },
    });
    origin.openGate();
    for (const { status, complete } of await Promise.all(held))
      expect([status, complete]).toEqual([200, true]);
    await until(async () => Object.values(await byName()).every(({ load }) => load === 0));
    await dying.edge.stop('SIGKILL');
    await until(async () => (await byName())[dying.name]?.state === 'silent');
    const { code, stdout } = await runCli(['edges', publicUrl(asked)], { NO_COLOR: '1' });
    const [head, ...lines] = stdout.trimEnd().split('\n');
    expect(code).toBe(0);
    expect(head).toMatch(/^EDGE\tNAME\tROUND TRIP\tLOAD\tROOM\tSTATE$/);
    expect(lines).toHaveLength(3);
    expect(lines.at(-1)).toMatch(
      new RegExp(`^${publicUrl(dying)}\\t${dying.name}\\t.*\\tno answer$`),
    );
    expect(lines[0]).toMatch(/\t\d+(\.\d)? ms\t\d\t\d+%\tready$/);
  });

  test('shows an edge that tells clients of none, and takes those of the environment or else of the settings', async () => {
    alone = await EdgeProcess.start([...OPTIONS, '--name', 'lone']);
    const ready = { rttMs: expect.any(Number), room: expect.any(Number), state: 'ready' };
    expect(await rows(alone.url)).toEqual([{ name: 'lone', url: alone.url, load: 0, ...ready }]);
    const cli = new DaemonCli(join(folder.path, 'settings'));
    const urls = async (env = {}) => {
      const { stdout } = await runCli(['edges', '--json'], { ...cli.env, ...env });
      return JSON.parse(stdout).edges.map(({ url }: Row) => url);
    };
    expect(await urls({ MILLRACE_EDGE: alone.url })).toEqual([alone.url]);
    try {
      await cli.startDaemon();
      await cli.call('addEdge', { url: alone.url });
      expect(await urls()).toEqual([alone.url]);
    } finally {
      await cli.kill();
    }
  });

  test('says in plain words what is wrong', async () => {
    const env = { MILLRACE_STATE: join(folder.path, 'nothing'), MILLRACE_EDGE: '' };
    const none = await runCli(['edges'], env);
    expect([none.code, none.stderr]).toEqual([
      2,
      'error: no edge is set up: name one, as in "millrace edges https://edge.example"\n',
    ]);
    const { host } = origin;
    const other = await runCli(['edges', `http://${host}`], env);
    expect([other.code, other.stderr]).toEqual([
      7,
      expect.stringContaining(`http://${host} is not an edge, or an older one`),
    ]);
    const unreachable = await runCli(['edges', '127.0.0.1:1'], env);
    expect([unreachable.code, unreachable.stderr]).toEqual([
      3,
      expect.stringContaining('no edge answers at http://127.0.0.1:1'),
    ]);
  });
});
