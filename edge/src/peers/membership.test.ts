import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { seededRandom } from '@millrace/shared/base/clock';
import { silentLog } from '@millrace/shared/base/log';
import { NetworkRtts } from '@millrace/shared/cdn/near/network-rtts';
import { parseSeed } from '../config/seeds.ts';
import { ClusterAuth } from './cluster-auth.ts';
import { Membership, type MembershipOptions } from './membership.ts';
import { INTRODUCTION_PATH } from './node-requests.ts';

const started: { stop(): Promise<void> }[] = [];

afterEach(async () => {
  await Promise.all(started.splice(0).map((node) => node.stop()));
});

interface TestNode {
  readonly membership: Membership;
  readonly url: string;
  /** Number of requests received. */
  readonly asked: number;
  stop(): Promise<void>;
}

/** A node that only answers and sends heartbeats. */
async function startNode(
  name: string,
  options: Partial<MembershipOptions> & { readonly at?: number; readonly inside?: number } = {},
): Promise<TestNode> {
  const membership = new Membership({
    name,
    weight: 1,
    policy: 'open',
    org: undefined,
    publicUrl: undefined,
    peerUrl: undefined,
    seeds: [],
    auth: new ClusterAuth(undefined, () => Date.now(), name),
    log: silentLog,
    now: () => performance.now(),
    own: () => ({ load: 0, draining: false }),
    random: seededRandom(1),
    heartbeatIntervalMs: 5,
    resolveIntervalMs: 5,
    ...options,
  });
  let asked = 0;
  const { auth = new ClusterAuth(undefined, () => Date.now(), name), at = 0 } = options;
  const server: Server = createServer((req, res) => {
    asked++;
    const target = req.url as string;
    try {
      const isIntroduction = target === INTRODUCTION_PATH;
      if (isIntroduction) auth.verifyIntroduction(req, target);
      else auth.verify(req, target);
      const { body, headers } = isIntroduction ? membership.introduce(req) : membership.answer(req);
      res.writeHead(200, headers).end(body);
    } catch {
      res.writeHead(403).end();
    }
  });
  await once(server.listen(at, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const node = {
    membership,
    url: `http://127.0.0.1:${port}`,
    get asked() {
      return asked;
    },
    async stop() {
      await membership.stop();
      server.closeAllConnections();
      server.close();
    },
  };
  started.push(node);
  await membership.start(options.inside ?? port, options.inside !== undefined);
  return node;
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

const usable = ({ membership }: TestNode) =>
  membership
    .nodes()
    .slice(1)
    .map(({ name }) => name)
    .sort()
    .join();

describe('Membership', () => {
  test('the records of a name are read again: new nodes are found, others leave', async () => {
    const first = await startNode('first');
    let records = [first.url];
    const asking = await startNode('asking', {
      seeds: [parseSeed('edges.example')],
      resolve: async () => records,
    });
    await until(() => usable(asking) === 'first');
    const second = await startNode('second');
    records = [first.url, second.url];
    await until(() => usable(asking) === 'first,second');
    records = [second.url];
    await first.stop();
    await until(() => usable(asking) === 'second');
  });

  test('nodes of a site have one turn together, and each speaks for the others', async () => {
    // These two ask others only when they hear of them.
    const quiet = { site: 'fra', heartbeatIntervalMs: 3_600_000 };
    const [first, second] = [await startNode('first', quiet), await startNode('second', quiet)];
    const other = await startNode('other', { heartbeatIntervalMs: 3_600_000 });
    const seeds = [first, second, other].map(({ url }) => parseSeed(url));
    const asking = await startNode('asking', { seeds });
    await until(() => usable(asking) === 'first,other,second' && usable(second).includes('first'));
    /** Counts how often the two are asked while the other is asked twenty times. */
    const askedMeanwhile = async () => {
      const before = other.asked + 20;
      const asked = first.asked + second.asked;
      await until(() => other.asked >= before);
      return first.asked + second.asked - asked;
    };
    // If each had turns of its own, the two would be asked forty times, again and again. A node that
    // a busy machine keeps from answering in time is asked more often for a while.
    while ((await askedMeanwhile()) >= 30);
    expect(asking.membership.table.get('first')?.site).toBe('fra');
    await second.stop();
    await until(() => usable(asking) === 'first,other');
  });

  test('no node is lost while a name cannot be looked up', async () => {
    const first = await startNode('first');
    let lookups = 0;
    const asking = await startNode('asking', {
      seeds: [parseSeed('edges.example')],
      resolve: async () => (lookups++ === 0 ? [first.url] : []),
    });
    await until(() => usable(asking) === 'first' && lookups > 10);
    expect(usable(asking)).toBe('first');
  });

  test('nodes learn of nodes that ask them, and of others from those', async () => {
    const seed = await startNode('seed');
    const told = { seeds: [parseSeed(seed.url)] };
    const [a, b] = [await startNode('a', told), await startNode('b', told)];
    await until(() => usable(a) === 'b,seed');
    await until(() => usable(b) === 'a,seed');
    await until(() => usable(seed) === 'a,b');
  });

  test('a node without seeds keeps asking nodes that have asked it', async () => {
    const seed = await startNode('seed');
    const asking = await startNode('asking', { seeds: [parseSeed(seed.url)] });
    await until(() => usable(seed) === 'asking');
    await asking.stop();
    await until(() => usable(seed) === '');
  });

  test('a node is asked at the address where it wants to be reached, and at no other', async () => {
    const node = await startNode('behind');
    let asked = 0;
    const server = createServer((req, res) => {
      asked++;
      const { body, headers } = node.membership.answer(req);
      res.writeHead(200, headers).end(JSON.stringify({ ...JSON.parse(body), peerUrl: node.url }));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const asking = await startNode('asking', { seeds: [parseSeed(`127.0.0.1:${port}`)] });
    // Heartbeats that were on their way at the first answer have arrived by then.
    await until(() => node.asked > 30);
    const before = asked;
    await until(() => node.asked > 60);
    expect(asked).toBe(before);
    expect(asking.membership.table.get('behind')?.url).toBe(node.url);
    server.closeAllConnections();
    server.close();
  });

  test('a node that comes back under another address is found there', async () => {
    const before = await startNode('moved');
    let records = [before.url];
    const asking = await startNode('asking', {
      seeds: [parseSeed('edges.example')],
      resolve: async () => records,
    });
    await until(() => usable(asking) === 'moved');
    await before.stop();
    const after = await startNode('moved');
    records = [after.url];
    await until(() => asking.membership.nodes()[1]?.url === after.url);
  });

  test('a node is pinged at once after a failed forward, and used again when it answers', async () => {
    const node = await startNode('node');
    // No regular heartbeats, so that an answer belongs to the heartbeat that silence has caused.
    const seeds = [parseSeed(node.url)];
    const asking = await startNode('asking', { seeds, heartbeatIntervalMs: 1e6 });
    await until(() => usable(asking) === 'node');
    asking.membership.onForwardFailed('node');
    asking.membership.onForwardFailed('unknown');
    expect(usable(asking)).toBe('');
    await until(() => usable(asking) === 'node');
  });

  test('nodes tell each other their room, and how far the networks of their clients are', async () => {
    const [rttsOfA, rttsOfB] = [new NetworkRtts('a'), new NetworkRtts('b')];
    rttsOfA.onMeasured('192.0.2.0/24', 7, performance.now());
    const url = 'https://a.example';
    const service = (serves: string) => () => ({ room: 0.5, serves });
    const policy = '0123456789abcdef';
    const a = await startNode('a', { rtts: rttsOfA, publicUrl: url, service: service(policy) });
    const b = await startNode('b', {
      ...{ rtts: rttsOfB, service: service(policy) },
      seeds: [parseSeed(a.url.slice('http://'.length))],
    });
    await until(() => b.membership.alike().length === 1);
    const [peer] = b.membership.alike();
    expect([peer?.name, peer?.room]).toEqual(['a', 0.5]);
    expect(rttsOfB.rtt('192.0.2.0/24', 'a', performance.now())).toBe(7);
    expect(b.membership.publicEdges()).toMatchObject([{ name: 'a', url, room: 0.5 }]);
  });

  test('nodes tell each other what their depots still take, and earlier versions tell nothing', async () => {
    const depotRoom = { freeBytes: 5_000_000, maxSeconds: 3600 };
    const service = () => ({ room: 1, serves: '0123456789abcdef', depotRoom });
    const publicUrl = 'https://a.example';
    const a = await startNode('a', { publicUrl, service, org: 'lab' });
    const older = await startNode('older', { publicUrl: 'https://b.example' });
    const c = await startNode('c', { seeds: [parseSeed(a.url), parseSeed(older.url)] });
    await until(() => usable(c) === 'a,older');
    const told = c.membership.publicEdges().map(({ name, depot, org }) => [name, depot, org]);
    expect(told.sort()).toEqual([
      ['a', depotRoom, 'lab'],
      ['older', undefined, undefined],
    ]);
    expect(a.membership.publicEdges()[0]).toMatchObject({ depot: depotRoom, org: 'lab', rttMs: 0 });
  });

  test('clients are sent neither to nodes of another policy nor to those without a public URL', async () => {
    const service = (serves: string) => () => ({ room: 1, serves });
    const [policy, other] = ['0123456789abcdef', 'fedcba9876543210'];
    const publicUrl = 'https://edge.example';
    const a = await startNode('a', { service: service(other), publicUrl });
    const seeds = [parseSeed(a.url.slice('http://'.length))];
    const b = await startNode('b', { service: service(policy), seeds });
    const c = await startNode('c', { service: service(policy), publicUrl, seeds });
    await until(() => c.membership.nodes().length === 3 && b.membership.nodes().length === 3);
    expect(c.membership.alike()).toEqual([]);
    expect(b.membership.alike().map(({ name }) => name)).toEqual(['c']);
  });

  describe('with a secret', () => {
    const signed = (name: string) => ({
      auth: new ClusterAuth(Buffer.from('the secret of a network'), () => Date.now(), name),
    });
    const start = (name: string, options = {}) => startNode(name, { ...signed(name), ...options });

    test('nodes ask each other for their names first, and sign further requests for these', async () => {
      const seed = await start('seed');
      const a = await start('a', { seeds: [parseSeed(seed.url)] });
      const b = await start('b', { seeds: [parseSeed(seed.url)] });
      await until(() => usable(a) === 'b,seed');
      await until(() => usable(b) === 'a,seed');
      await until(() => usable(seed) === 'a,b');
    });

    test('a new node at the address of one that is gone is found by its own name', async () => {
      const before = await start('before');
      const asking = await start('asking', { seeds: [parseSeed(before.url)] });
      await until(() => usable(asking) === 'before');
      await before.stop();
      await start('after', { at: Number(new URL(before.url).port) });
      await until(() => usable(asking) === 'after');
    });

    test('a process behind a shared port is asked at its own port, by its own name', async () => {
      const own = await start('edge-1');
      // The shared port: its answer names the process, and the port that it has alone.
      const shared = await start('edge-1', { inside: Number(new URL(own.url).port) });
      const asking = await start('asking', { seeds: [parseSeed(shared.url)] });
      await asking.membership.met();
      expect(usable(asking)).toBe('edge-1');
      expect(asking.membership.table.get('edge-1')?.url).toBe(own.url);
    });

    test('a node with another secret learns no name, and tells none', async () => {
      const node = await start('node');
      const auth = new ClusterAuth(Buffer.from('another secret'), () => Date.now(), 'stranger');
      const stranger = await startNode('stranger', { auth, seeds: [parseSeed(node.url)] });
      await until(() => node.asked > 20);
      expect([...stranger.membership.table.peers, ...node.membership.table.peers]).toEqual([]);
    });
  });

  test('answers that no node would give are refused', async () => {
    let answer = '';
    const server = createServer((_req, res) => res.end(answer));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    let asked = 0;
    server.on('request', () => asked++);
    const asking = await startNode('asking', { seeds: [parseSeed(`127.0.0.1:${port}`)] });
    const good = {
      name: 'x',
      instance: '1',
      load: 0,
      weight: 1,
      policy: 'open',
      draining: false,
      sees: [],
      nodes: [],
    };
    const bad = [
      'no JSON',
      '{}',
      JSON.stringify({ ...good, name: 'a b' }),
      JSON.stringify({ ...good, weight: 0 }),
      JSON.stringify({ ...good, load: -1 }),
      JSON.stringify({ ...good, policy: 'anything' }),
      JSON.stringify({ ...good, nodes: ['file:///etc/passwd'] }),
      JSON.stringify({ ...good, sees: Array(1000).fill(['y', 1]) }),
      JSON.stringify({ ...good, heard: [-1] }),
      JSON.stringify({ ...good, heard: Array(1000).fill(1) }),
      'x'.repeat(300_000),
    ];
    for (const text of bad) {
      answer = text;
      const before = asked;
      await until(() => asked >= before + 2);
      expect([...asking.membership.table.peers]).toEqual([]);
    }
    answer = JSON.stringify(good);
    await until(() => usable(asking) === 'x');
    server.closeAllConnections();
    server.close();
  });
});
