/** Edges found by a name: the DNS server of a zone, asked by dig and by a real resolver. */

import { createSocket } from 'node:dgram';
import { readFile, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { Cluster } from '../../fixtures/programs/cluster.ts';
import { EdgeProcess, temporaryFolder } from '../../fixtures/programs/processes.ts';
import { testsWhere } from '../../fixtures/tests-where.ts';
import {
  type Dug,
  dig,
  dnsPort,
  dnsPorts,
  dnsToolsOrComplain,
  startUnbound,
} from '../../fixtures/tools/dns.ts';
import { until } from '../../fixtures/until.ts';

const ZONE = 'cdn.example.net';
const TOKEN = 'token of the administrator';
/** Servers whose names together need more than 512 bytes. */
const SERVERS = Array.from(
  { length: 12 },
  (_, i) => `ns-with-a-long-name-${i}.dns${i}.example.org`,
);
const ZONE_OPTIONS = [
  ...['--dns-zone', ZONE, '--dns-port', '0', '--dns-server', `ns.${ZONE}=127.0.0.1`],
  ...SERVERS.flatMap((name) => ['--dns-server', name]),
];

const { afterAll, afterEach, beforeAll, describe, test } = testsWhere(
  dnsToolsOrComplain('the DNS server of a zone'),
);

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let tokenFile: string;

beforeAll(async () => {
  folder = await temporaryFolder();
  tokenFile = join(folder.path, 'token');
  await writeFile(tokenFile, TOKEN);
});

afterAll(() => folder.remove());

/** Question for the addresses of the zone, without EDNS. */
const QUESTION = Buffer.from(
  '1267000000010000000000000363646e076578616d706c65036e65740000010001',
  'hex',
);

const values = ({ answers }: Dug) => answers.map(({ value }) => value).sort();

/** Returns what became of questions, by outcome. */
async function outcomes(edge: EdgeProcess): Promise<Record<string, number>> {
  const { dns } = (await edge.status()) as unknown as { dns: { outcomes: Record<string, number> } };
  return dns.outcomes;
}

describe('a zone of one edge', () => {
  let edge: EdgeProcess;
  let port: number;

  beforeAll(async () => {
    const addresses = ['--public-address', '192.0.2.1', '--public-address', '2001:db8::1'];
    edge = await EdgeProcess.start([...ZONE_OPTIONS, ...addresses, '--dns-rate', '0']);
    port = await dnsPort(edge, ZONE);
  });

  afterAll(() => edge?.stop('SIGKILL'));

  test.each(['+notcp', '+tcp'])('names the edge by UDP and by TCP: %s', async (transport) => {
    const four = await dig(port, ZONE, 'A', transport);
    expect(four).toMatchObject({
      status: 'NOERROR',
      answers: [{ name: `${ZONE}.`, type: 'A', value: '192.0.2.1' }],
    });
    expect(four.flags).toContain('aa');
    expect(four.flags).not.toContain('ra');
    expect(four.answers[0]?.ttlS).toBeLessThanOrEqual(30);
    const six = await dig(port, `example-org.${ZONE}`, 'AAAA', transport);
    expect(values(six)).toEqual(['2001:db8::1']);
  });

  test('has what a delegation needs: SOA, NS and the address of its own server', async () => {
    expect(values(await dig(port, ZONE, 'SOA'))).toEqual([
      `ns.${ZONE}. hostmaster.${ZONE}. 1 3600 600 86400 20`,
    ]);
    expect((await dig(port, ZONE, 'NS')).answers).toHaveLength(1 + SERVERS.length);
    expect(values(await dig(port, `ns.${ZONE}`, 'A'))).toEqual(['127.0.0.1']);
  });

  test('says properly that there is nothing', async () => {
    const none = { answers: [], authority: ['SOA'] };
    expect(await dig(port, ZONE, 'TXT')).toMatchObject({ status: 'NOERROR', ...none });
    expect(await dig(port, `x.ns.${ZONE}`, 'A')).toMatchObject({ status: 'NXDOMAIN', ...none });
  });

  test('refuses other names, and answers ANY with one record', async () => {
    expect(await dig(port, 'example.org', 'A')).toMatchObject({ status: 'REFUSED', answers: [] });
    const any = await dig(port, ZONE, 'ANY', '+notcp');
    expect(values(any)).toEqual(['"RFC8482" ""']);
  });

  test('truncates what does not fit, and dig gets it by TCP', async () => {
    const cut = await dig(port, ZONE, 'NS', '+noedns', '+ignore');
    expect(cut.flags).toContain('tc');
    expect(cut.answers).toEqual([]);
    const whole = await dig(port, ZONE, 'NS', '+noedns');
    expect(whole).toMatchObject({ transport: 'TCP' });
    expect(whole.answers).toHaveLength(1 + SERVERS.length);
    const large = await dig(port, ZONE, 'NS', '+bufsize=4096');
    expect(large).toMatchObject({ transport: 'UDP' });
    expect(large.text).toMatch(/udp: 1232/);
  });

  test('gives cookies, which dig finds good, and returns the network of a client', async () => {
    const { text } = await dig(port, ZONE, 'A', '+subnet=203.0.113.0/24', '+cookie');
    expect(text).toMatch(/COOKIE: [0-9a-f]{48} \(good\)/);
    // There is one edge: the answer suits all clients.
    expect(text).toMatch(/CLIENT-SUBNET: 203.0.113.0\/24\/0/);
  });

  test('counts questions in its status and metrics', async () => {
    const before = await outcomes(edge);
    await dig(port, 'example.org', 'A');
    expect((await outcomes(edge)).refused).toBe((before.refused ?? 0) + 1);
    const metrics = await (await fetch(`${edge.url}/-/metrics`)).text();
    expect(metrics).toMatch(/millrace_dns_questions_total{outcome="refused",transport="udp"} \d/);
  });

  test('a connection answers question after question, and closes at one that is too long', async () => {
    const socket = connect(port, '127.0.0.1');
    const pieces: Buffer[] = [];
    socket.on('data', (piece: Buffer) => pieces.push(piece));
    const question = Buffer.concat([Buffer.from('0021', 'hex'), QUESTION]);
    const ended = new Promise((resolve) => socket.once('close', resolve));
    socket.write(Buffer.concat([question, question, question.subarray(0, 7)]));
    const received = () => pieces.reduce((sum, { length }) => sum + length, 0);
    await until(() => received() === 2 * (2 + 33 + 16));
    socket.write(Buffer.concat([question.subarray(7), Buffer.from('ffff', 'hex')]));
    await ended;
    expect(received()).toBe(3 * (2 + 33 + 16));
  });

  test('a connection that asks faster than it reads gets every answer', async () => {
    const questions = 10_000;
    // For the servers of the zone: an answer of some hundred bytes.
    const question = Buffer.concat([Buffer.from('0021', 'hex'), QUESTION]);
    question.writeUInt16BE(2, question.length - 4);
    const socket = connect(port, '127.0.0.1');
    let held = Buffer.alloc(0);
    let answered = 0;
    socket.on('data', (piece: Buffer) => {
      held = Buffer.concat([held, piece]);
      let at = 0;
      while (held.length - at >= 2 && held.length - at - 2 >= held.readUInt16BE(at)) {
        // Of 13 answers, or the connection is out of step.
        if (held.readUInt16BE(at + 2 + 6) === 1 + SERVERS.length) answered++;
        at += 2 + held.readUInt16BE(at);
      }
      held = held.subarray(at);
    });
    socket.write(Buffer.concat(Array.from({ length: questions }, () => question)));
    await until(() => answered === questions);
    socket.destroy();
  });

  test('answers a real resolver, which mixes letters and tells the network of its client', async () => {
    const resolver = await startUnbound(join(folder.path, 'unbound'), ZONE, port);
    try {
      const asked = async () => (await outcomes(edge)).answered ?? 0;
      const before = await asked();
      const resolved = async (name: string, type: string) => {
        let last: Dug | undefined;
        // A resolver that waited in vain for a busy machine says so, and may be asked again.
        await until(async () => {
          last = await dig(resolver.port, name, type, '+recurse');
          return last.status !== 'SERVFAIL';
        });
        return last as Dug;
      };
      const first = await resolved(`dl.${ZONE}`, 'A');
      expect(first).toMatchObject({ status: 'NOERROR' });
      expect(values(first)).toEqual(['192.0.2.1']);
      expect(first.answers[0]?.ttlS).toBeLessThanOrEqual(30);
      const after = await asked();
      expect(after).toBeGreaterThan(before);
      expect(values(await resolved(`dl.${ZONE}`, 'AAAA'))).toEqual(['2001:db8::1']);
      const missing = await resolved(`x.ns.${ZONE}`, 'A');
      expect(missing).toMatchObject({ status: 'NXDOMAIN', authority: ['SOA'] });
    } finally {
      await resolver.stop();
    }
  });
});

describe('a flood from an address that may be forged', () => {
  let edge: EdgeProcess;
  afterEach(() => edge?.stop('SIGKILL'));

  test('gets few answers, while a resolver that proves its address gets all of its own', async () => {
    edge = await EdgeProcess.start([
      ...[...ZONE_OPTIONS, '--public-address', '192.0.2.1', '--dns-rate', '1'],
      ...['--admin-token-file', tokenFile],
    ]);
    const port = await dnsPort(edge, ZONE);
    const flood = createSocket('udp4');
    const longest = { bytes: 0 };
    flood.on('message', ({ length }) => {
      longest.bytes = Math.max(longest.bytes, length);
    });
    const over = async () => {
      const { limited = 0, dropped = 0 } = await outcomes(edge);
      return { limited, dropped };
    };
    await until(async () => {
      for (let i = 0; i < 20; i++) flood.send(QUESTION, port, '127.0.0.1');
      const { limited, dropped } = await over();
      return limited > 2 && dropped > 2;
    });
    // Still over its rate, it is told to come by TCP, or not answered: dig then asks by TCP.
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => dig(port, ZONE, 'A', '+tcp')),
    );
    for (const answer of answers) expect(values(answer)).toEqual(['192.0.2.1']);
    flood.close();
    expect(longest.bytes).toBeLessThanOrEqual(QUESTION.length + 16);
    const { admission } = await edge.status();
    expect(admission.dnsAnswers?.refused).toBeGreaterThan(2);
    const headers = { authorization: `Bearer ${TOKEN}` };
    const refusals = await (await fetch(`${edge.url}/-/refusals`, { headers })).text();
    expect(refusals).toMatch(/"resource":"dnsAnswers".*127\.0\.0\.1/);
  });
});

describe('a zone of several edges', () => {
  let cluster: Cluster;
  afterEach(() => cluster?.stop());

  const address = (index: number) => `192.0.2.${index + 1}`;

  test('names edges that work, by the network of the client, and all of them if none works', async () => {
    cluster = await Cluster.start({
      nodes: 4,
      options: [...ZONE_OPTIONS, '--dns-edges', '4', '--admin-token-file', tokenFile],
      perNode: (index) => [
        ...['--public-address', address(index)],
        ...(index === 3 ? ['--allow-origin', 'other.example'] : []),
      ],
    });
    const [first, second, third, other] = [0, 1, 2, 3].map((index) => cluster.node(index).edge) as [
      EdgeProcess,
      EdgeProcess,
      EdgeProcess,
      EdgeProcess,
    ];
    const port = await dnsPort(first, ZONE);
    const named = async () => values(await dig(port, ZONE, 'A'));
    const becomes = (...indices: number[]) =>
      until(async () => String(await named()) === String(indices.map(address)));
    const described = async () =>
      (
        (await first.status()) as unknown as {
          dns: { noneHealthy: boolean; otherPolicy: string[] };
        }
      ).dns;
    // One edge serves other origins: an answer that names it would lead clients to refusals.
    await until(async () => String((await described()).otherPolicy) === cluster.node(3).name);
    await becomes(0, 1, 2);
    const { text } = await dig(port, ZONE, 'A', '+subnet=203.0.113.77/32');
    expect(text).toMatch(/CLIENT-SUBNET: 203.0.113.77\/32\/24/);
    await third.stop('SIGKILL');
    await becomes(0, 1);
    const drain = (edge: EdgeProcess) =>
      fetch(`${edge.url}/-/drain`, {
        method: 'POST',
        headers: { authorization: `Bearer ${TOKEN}` },
      });
    await drain(second);
    await becomes(0);
    // All nodes know it, and name the one that is left.
    const port2 = await dnsPort(second, ZONE);
    await until(async () => String(values(await dig(port2, ZONE, 'A'))) === address(0));
    await drain(first);
    // An edge of another policy is better than none.
    await becomes(3);
    await other.stop('SIGKILL');
    await becomes(0, 1, 2, 3);
    await first.logged(/no edge is healthy/);
    expect((await described()).noneHealthy).toBe(true);
  });

  test('is answered by one of several processes of an edge, which is started again', async () => {
    const edge = await EdgeProcess.start([
      ...[...ZONE_OPTIONS, '--workers', '2', '--public-address', '192.0.2.1'],
    ]);
    try {
      await dnsPort(edge, ZONE);
      const metrics = await (await fetch(`${edge.url}/-/metrics`)).text();
      expect(metrics).toMatch(/millrace_dns_questions_total{[^}]*} \d/);
      expect((await outcomes(edge)).answered).toBeGreaterThan(0);
      const { pid } = edge;
      const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
      for (const worker of children.trim().split(' ')) process.kill(Number(worker), 'SIGKILL');
      await until(() => dnsPorts(edge).length === 2);
      expect(values(await dig(await dnsPort(edge, ZONE), ZONE, 'A'))).toEqual(['192.0.2.1']);
    } finally {
      await edge.stop('SIGKILL');
    }
  });
});
