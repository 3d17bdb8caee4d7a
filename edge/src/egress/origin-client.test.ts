import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { ClientOrigins } from '../admission/client-origins.ts';
import { nodeClient } from '../files/path.ts';
import type { OriginPolicy } from '../policy/policy.ts';
import { OriginClient } from './origin-client.ts';

const FLOOD = 40;
const CONNECTIONS = 2;

let origin: Server;
let base: string;
/** Requests that the origin holds, in order of arrival, and whose they are. */
let held: { readonly path: string; readonly res: ServerResponse }[];
let arrived: string[];
let client: OriginClient;

beforeEach(async () => {
  [held, arrived] = [[], []];
  origin = createServer((req, res) => {
    const path = req.url as string;
    arrived.push(path);
    held.push({ path, res });
    origin.emit('held');
  });
  origin.listen(0, '127.0.0.1');
  await once(origin, 'listening');
  base = `http://127.0.0.1:${(origin.address() as AddressInfo).port}`;
  client = new OriginClient({
    policy: { own: undefined, check: () => true, rule: () => ({}) } as unknown as OriginPolicy,
    name: 'edge',
    connections: CONNECTIONS,
    timeoutMs: 60_000,
    maxOrigins: 10,
    clientOrigins: { admit: () => {} } as unknown as ClientOrigins,
    now: () => performance.now(),
  });
});

afterEach(async () => {
  await client.close();
  origin.closeAllConnections();
  await once(origin.close(), 'close');
});

/** Answers the longest held request. */
async function answerOne(): Promise<void> {
  while (held.length === 0) await once(origin, 'held');
  held.shift()?.res.writeHead(206, { 'content-length': 1 }).end('x');
}

const nobody = new AbortController().signal;

async function ask(how: 'open' | 'openRange', path: string, who: string): Promise<void> {
  const request = {
    url: new URL(base + path),
    scope: 'public',
    client: who,
    signal: nobody,
  } as const;
  const answer = await client[how](request);
  const into = Buffer.alloc(1);
  await answer.readInto(into, () => {});
}

test.each([
  ['chunks', 'openRange', '192.0.2.1', '192.0.2.2'],
  ['versions and tunnels', 'open', '192.0.2.1', '192.0.2.2'],
  ['chunks of another node', 'openRange', nodeClient('b', undefined), '192.0.2.2'],
  [
    'a client of another node',
    'openRange',
    nodeClient('b', '0123456789abcdef'),
    nodeClient('b', 'fedcba9876543210'),
  ],
  ['versions for another node', 'open', nodeClient('b', undefined), '192.0.2.2'],
] as const)(
  'one client’s flood of requests for %s keeps no other client from the origin',
  async (_, how, flooder, honest) => {
    const flood = Array.from({ length: FLOOD }, (_none, i) => ask(how, `/flood/${i}`, flooder));
    while (held.length < CONNECTIONS) await once(origin, 'held');
    const one = ask(how, '/honest', honest);
    for (let answered = 0; answered <= FLOOD; answered++) await answerOne();
    await Promise.all([...flood, one]);
    // Behind those that were under way, and no others.
    expect(arrived.indexOf('/honest')).toBe(CONNECTIONS);
  },
);
