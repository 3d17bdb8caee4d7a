import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { silentLog } from '@millrace/shared/base/log';
import { ClusterAuth } from './cluster-auth.ts';
import { Membership, type MembershipOptions } from './membership.ts';
import { parseSeed } from './seeds.ts';

const started: { stop(): Promise<void> }[] = [];

afterEach(async () => {
  await Promise.all(started.splice(0).map((node) => node.stop()));
});

interface TestNode {
  readonly membership: Membership;
  readonly url: string;
  stop(): Promise<void>;
}

/** A node that does nothing but answer heartbeats, and send them. */
async function startNode(
  name: string,
  options: Partial<MembershipOptions> = {},
): Promise<TestNode> {
  const membership = new Membership({
    name,
    weight: 1,
    policy: 'open',
    org: undefined,
    publicUrl: undefined,
    peerUrl: undefined,
    seeds: [],
    auth: new ClusterAuth(undefined, () => Date.now()),
    log: silentLog,
    now: () => performance.now(),
    own: () => ({ load: 0, draining: false }),
    onHeartbeat() {},
    heartbeatIntervalMs: 5,
    resolveIntervalMs: 5,
    ...options,
  });
  const server: Server = createServer((req, res) => {
    const { body, headers } = membership.answer(req);
    res.writeHead(200, headers).end(body);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const node = {
    membership,
    url: `http://127.0.0.1:${port}`,
    async stop() {
      await membership.stop();
      server.closeAllConnections();
      server.close();
    },
  };
  started.push(node);
  await membership.start(port);
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

  test('a name that cannot be looked up for a while loses nobody', async () => {
    const first = await startNode('first');
    let lookups = 0;
    const asking = await startNode('asking', {
      seeds: [parseSeed('edges.example')],
      resolve: async () => (lookups++ === 0 ? [first.url] : []),
    });
    await until(() => usable(asking) === 'first' && lookups > 10);
    expect(usable(asking)).toBe('first');
  });

  test('nodes learn of each other from those that ask them, and of others from them', async () => {
    const seed = await startNode('seed');
    const told = { seeds: [parseSeed(seed.url)] };
    const [a, b] = [await startNode('a', told), await startNode('b', told)];
    await until(() => usable(a) === 'b,seed');
    await until(() => usable(b) === 'a,seed');
    await until(() => usable(seed) === 'a,b');
  });

  test('a node that was told of nobody keeps asking those that have asked it', async () => {
    const seed = await startNode('seed');
    const asking = await startNode('asking', { seeds: [parseSeed(seed.url)] });
    await until(() => usable(seed) === 'asking');
    await asking.stop();
    await until(() => usable(seed) === '');
  });

  test('a node is asked where it wants to be reached, and not at its other address as well', async () => {
    const node = await startNode('behind');
    let asked = 0;
    const server = createServer((req, res) => {
      asked++;
      const { body, headers } = node.membership.answer(req);
      res.writeHead(200, headers).end(JSON.stringify({ ...JSON.parse(body), peerUrl: node.url }));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    let heartbeats = 0;
    const asking = await startNode('asking', {
      seeds: [parseSeed(`127.0.0.1:${port}`)],
      onHeartbeat: () => heartbeats++,
    });
    // What was on its way when the first answer came has come by then.
    await until(() => heartbeats > 30);
    const before = asked;
    await until(() => heartbeats > 60);
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

  test('a node that is found silent is asked at once whether it is still there', async () => {
    const node = await startNode('node');
    // Never in turn, so that an answer is one to the question that silence is the reason for.
    const seeds = [parseSeed(node.url)];
    const asking = await startNode('asking', { seeds, heartbeatIntervalMs: 1e6 });
    await until(() => usable(asking) === 'node');
    asking.membership.onSilent('node');
    asking.membership.onSilent('unknown');
    expect(usable(asking)).toBe('');
    await until(() => usable(asking) === 'node');
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
