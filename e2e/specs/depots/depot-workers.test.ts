/**
 * A depot of an edge with several processes: one of them has the folder, and the others pass on what
 * their clients ask. MILLRACE_DEPOT_KILLS sets how often that process is killed (1), and
 * MILLRACE_TEST_SEED repeats the moments.
 */

import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { Agent, type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { testSeed } from '@millrace/shared/node/testing/test-seed';
import { seededRandom } from '../../../shared/src/base/clock.ts';
import { rawConnect } from '../../fixtures/clients/raw-client.ts';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { type EdgeProcess, runCli } from '../../fixtures/programs/processes.ts';
import {
  askDepot,
  DepotStage,
  type Links,
  OWNER_TOKEN,
  owned,
  reserve,
} from '../../fixtures/stages/depot-stage.ts';
import { sendUntilBroken } from '../../fixtures/stages/paced-upload.ts';
import { becomes, until } from '../../fixtures/until.ts';

const WORKERS = 3;
const KIB = 1024;
const KILLS = Number(process.env.MILLRACE_DEPOT_KILLS ?? 1);
const seed = testSeed('depot workers tests');
const random = seededRandom(seed);

const stage = await DepotStage.set();
const start = (...options: string[]) =>
  stage.start(
    ...['--workers', String(WORKERS), '--client-transfers', '0', '--depot-quota', '60000KB'],
    ...['--trusted-proxy', '127.0.0.1', '--admin-token-file', stage.tokenFile, ...options],
  );
const edge = await start();
/** Connections, each of which goes to the next process. */
const agents = Array.from({ length: WORKERS }, () => new Agent({ keepAlive: true, maxSockets: 1 }));

afterAll(() => {
  for (const agent of agents) agent.destroy();
});

interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
  /** Statuses and fields of interim answers. */
  readonly interim: readonly (readonly [number, IncomingMessage['headers']])[];
}

/** Sends a request by a connection that is kept. @param body in one piece, or in pieces of unknown length */
async function ask(
  agent: Agent,
  method: string,
  url: string,
  headers: Record<string, string> = {},
  body?: Buffer | readonly Buffer[],
): Promise<Answer> {
  const client = request(url, { agent, method, headers });
  const interim: [number, IncomingMessage['headers']][] = [];
  client.on('information', (one) => interim.push([one.statusCode, one.headers]));
  for (const piece of Array.isArray(body) ? (body as readonly Buffer[]) : []) client.write(piece);
  client.end(Buffer.isBuffer(body) ? body : undefined);
  const [response] = (await once(client, 'response')) as [IncomingMessage];
  const pieces: Buffer[] = [];
  for await (const piece of response) pieces.push(piece as Buffer);
  const { statusCode: status = 0 } = response;
  return { status, headers: response.headers, body: Buffer.concat(pieces), interim };
}

const patch = (offset: number, complete: boolean) => ({
  'content-type': 'application/partial-upload',
  'upload-offset': String(offset),
  'upload-complete': complete ? '?1' : '?0',
});

/** Finds the process that has the folder. */
async function depotProcess({ pid }: EdgeProcess): Promise<number | undefined> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
  for (const child of children.trim().split(' ').filter(Boolean)) {
    const variables = await readFile(`/proc/${child}/environ`, 'utf8').catch(() => '');
    if (variables.split('\0').includes('MILLRACE_WORKER_INDEX=0')) return Number(child);
  }
  return undefined;
}

test('clients of all processes store files in one folder, and read what others have stored', async () => {
  const stored: { links: Links; content: Buffer }[] = [];
  await Promise.all(
    [...agents, ...agents].map(async (agent, i) => {
      const content = contentOf(`worker ${i}`, 700 * KIB + i);
      const made = await ask(agent, 'POST', `${edge.url}/-/depot`, owned(), [
        Buffer.from(JSON.stringify({ bytes: content.length, seconds: 3600, name: `f${i}` })),
      ]);
      expect(made.status).toBe(201);
      const links = JSON.parse(made.body.toString()) as Links;
      expect(links.read.startsWith(edge.url)).toBe(true);
      const half = 300 * KIB;
      // A body of unknown length, by one process, and the rest by the next one.
      const first = [content.subarray(0, 1000), content.subarray(1000, half)];
      const one = await ask(agent, 'PATCH', links.write, patch(0, false), first);
      expect([one.status, one.headers['upload-offset']]).toEqual([204, String(half)]);
      const other = agents[(i + 1) % WORKERS] as Agent;
      const rest = content.subarray(half);
      const two = await ask(other, 'PATCH', links.write, patch(half, true), rest);
      expect([two.status, JSON.parse(two.body.toString()).sha256]).toEqual([200, sha256(content)]);
      stored.push({ links, content });
    }),
  );
  for (const { links, content } of stored) {
    for (const agent of agents) {
      const { status, body } = await ask(agent, 'GET', links.read);
      expect([status, sha256(body)]).toEqual([200, sha256(content)]);
      const part = await ask(agent, 'GET', links.read, { range: 'bytes=1000-1999' });
      expect([part.status, part.headers['content-range']]).toEqual([
        ...[206, `bytes 1000-1999/${content.length}`],
      ]);
      expect(part.body.equals(content.subarray(1000, 2000))).toBe(true);
      const head = await ask(agent, 'HEAD', links.write);
      expect([head.status, head.headers['upload-complete']]).toEqual([204, '?1']);
    }
  }
  const sum = stored.reduce((bytes, { content }) => bytes + content.length, 0);
  await becomes(async () => (await edge.status()).admission.depotBytes?.use, sum);
  expect((await edge.status()).admission.depotBytes?.limit).toBe(60_000_000);
  // Operators see and delete through any process.
  for (const agent of agents.slice(1)) {
    const listed = await ask(agent, 'GET', `${edge.url}/-/allocations?owner=alice`, owned());
    expect(JSON.parse(listed.body.toString())).toMatchObject({ count: stored.length });
    const refused = await ask(agent, 'GET', `${edge.url}/-/allocations`);
    expect(refused.status).toBe(401);
    const { id } = (stored.pop() as { links: Links }).links;
    const body = Buffer.from(JSON.stringify({ id, delete: true }));
    const type = { 'content-type': 'application/json' };
    const gone = await ask(
      ...([agent, 'POST', `${edge.url}/-/allocations`, { ...owned(), ...type }, body] as const),
    );
    expect([gone.status, JSON.parse(gone.body.toString()).allocations[0].id]).toEqual([200, id]);
  }
  const after: number[] = [];
  for (const [i, { links }] of stored.entries()) {
    expect((await askDepot('DELETE', links.manage)).status).toBe(204);
    // At once, and by all processes.
    after.push((await ask(agents[i % WORKERS] as Agent, 'GET', links.read)).status);
  }
  expect(after).toEqual(stored.map(() => 404));
});

test('an upload gets its interim answers, and no body is sent that is refused, through each process', async () => {
  for (const [i, agent] of agents.entries()) {
    const content = contentOf(`interim ${i}`, 100_000);
    const headers = { ...owned(), 'upload-complete': '?1', 'content-disposition': 'inline' };
    const made = await ask(agent, 'POST', `${edge.url}/-/depot`, headers, content);
    expect(made.status).toBe(201);
    const [[status, told] = []] = made.interim;
    expect([status, told?.location]).toEqual([104, made.headers.location]);
    expect(told?.['upload-limit']).toMatch(/max-age=\d+/);
    const client = request(`${edge.url}/-/depot/x`, {
      ...{ agent, method: 'PUT' },
      headers: { authorization: 'Bearer x', expect: '100-continue', 'content-length': '5' },
    });
    let wanted = false;
    client.on('continue', () => {
      wanted = true;
    });
    client.flushHeaders();
    const [refused] = (await once(client, 'response')) as [IncomingMessage];
    refused.resume();
    expect([refused.statusCode, wanted]).toEqual([401, false]);
    client.destroy();
  }
  // With the right token, curl waits for the go-ahead and sends.
  const put = await rawConnect(edge.url);
  put.write(
    `PUT /-/depot/y HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${OWNER_TOKEN}\r\n` +
      'Expect: 100-continue\r\nContent-Length: 5\r\nConnection: close\r\n\r\n',
  );
  const [goAhead] = (await once(put, 'data')) as [Buffer];
  expect(goAhead.toString()).toMatch(/^HTTP\/1\.1 100 /);
  put.write('hello');
  const [link] = (await once(put, 'data')) as [Buffer];
  expect(link.toString()).toMatch(/^HTTP\/1\.1 201 /);
});

test('a client that leaves in the middle of a body, whatever process it has, completes nothing', async () => {
  for (let i = 0; i < WORKERS; i++) {
    const { write } = await reserve(edge, 1000);
    const socket = await rawConnect(edge.url);
    const head = Object.entries(patch(0, true)).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(
      `PATCH ${new URL(write).pathname} HTTP/1.1\r\nHost: a\r\n${head.join('')}` +
        'Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n',
    );
    await until(async () => (await edge.status()).admission.appends?.use === 1);
    socket.destroy();
    await becomes(async () => (await edge.status()).admission.appends?.use, 0);
    const { headers } = await askDepot('HEAD', write);
    expect(headers.get('upload-complete')).toBe('?0');
    // The client may have left before the process that stores them had its bytes.
    expect(['0', '3']).toContain(headers.get('upload-offset'));
  }
});

test('limits count each client once over all processes, and nobody can pass for another', async () => {
  const made = await Promise.all(
    Array.from({ length: 30 }, () =>
      askDepot('POST', `${edge.url}/-/depot`, owned(), { bytes: 5_000_000, seconds: 3600 }),
    ),
  );
  const links = made.filter(({ status }) => status === 201).map(({ body }) => body as Links);
  expect(made.filter(({ status }) => status === 507)).toHaveLength(30 - links.length);
  expect(links).toHaveLength(11);
  const held = await Promise.all(
    links.slice(0, 8).map(async ({ write }, i) => {
      const socket = await rawConnect(edge.url);
      const head = Object.entries(patch(0, true)).map(([name, value]) => `${name}: ${value}\r\n`);
      socket.write(
        `PATCH ${new URL(write).pathname} HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 192.0.2.1\r\n` +
          `Millrace-Relay-Client: 192.0.2.${i}\r\n${head.join('')}Content-Length: 10\r\n\r\n`,
      );
      return socket;
    }),
  );
  await until(async () => (await edge.status()).admission.appends?.use === 8);
  const ninth = (links[8] as Links).write;
  const from = (client: string, more: Record<string, string> = {}) => ({
    ...{ 'x-forwarded-for': client, ...patch(0, false), ...more },
  });
  for (const agent of agents) {
    const forged = from('192.0.2.1', { 'millrace-relay-client': '192.0.2.77' });
    const refused = await ask(agent, 'PATCH', ninth, forged, Buffer.from('x'));
    expect([refused.status, JSON.parse(refused.body.toString()).code]).toEqual([
      ...[429, 'too-many-transfers'],
    ]);
  }
  const another = await ask(
    ...([agents[1] as Agent, 'PATCH', ninth, from('192.0.2.2'), Buffer.from('x')] as const),
  );
  expect(another.status).toBe(204);
  for (const socket of held) socket.destroy();
  await becomes(async () => (await edge.status()).admission.appends?.use, 0);
  // Ten wrong guesses a minute, however they are dealt out: every six seconds permit one more.
  const [{ id }] = links as [Links];
  const guesses: number[] = [];
  const begunAt = performance.now();
  for (let i = 0; i < 10 * WORKERS && guesses.at(-1) !== 429; i++) {
    const secret = String(i).padStart(32, 'A');
    const target = `${edge.url}/-/depot/w/${id}/${secret}`;
    const fields = { 'x-forwarded-for': '192.0.2.3' };
    guesses.push((await ask(agents[i % WORKERS] as Agent, 'HEAD', target, fields)).status);
  }
  const more = Math.ceil((performance.now() - begunAt) / 6000);
  expect(guesses.slice(0, 10)).toEqual(Array.from({ length: 10 }, () => 404));
  expect(guesses.at(-1)).toBe(429);
  expect(guesses.length).toBeLessThanOrEqual(11 + more);
  // The log names the clients themselves.
  await edge.logged(/"client":"192\.0\.2\.2".*"PATCH"/);
  expect(edge.log.filter((line) => line.includes('192.0.2.77'))).toEqual([]);
  // The socket of the processes is for this user, and answers nobody without their key.
  const [name] = (await readdir(stage.depotDir)).filter((one) => one.endsWith('.sock'));
  const socket = connect(join(stage.depotDir, name as string));
  socket.write(`HEAD ${new URL(ninth).pathname} HTTP/1.1\r\nHost: a\r\n`);
  socket.write('Millrace-Relay-Key: x\r\nMillrace-Relay-Client: 192.0.2.9\r\n\r\n');
  let told = '';
  socket.on('data', (bytes) => {
    told += bytes;
  });
  socket.on('error', () => {});
  await once(socket, 'close');
  expect(told).toBe('');
  for (const { manage } of links) await askDepot('DELETE', manage);
});

test('the death of the process with the folder loses nothing acknowledged, and the others say when to come again', async () => {
  const dir = ['--depot-dir', join(stage.folder, 'killed')];
  const own = await start(...dir, '--depot-quota', '2GiB', '--log-level', 'warn');
  // Between two kills an acknowledgement comes, a second after the first bytes.
  const content = contentOf('killed worker', (8 + 16 * KILLS) * 1024 * KIB);
  const clients = agents.map(() => new Agent({ keepAlive: true, maxSockets: 1 }));
  const uploads = await Promise.all(
    clients.map(async (agent) => ({ agent, offset: 0, ...(await reserve(own, content.length)) })),
  );
  // Connections to each of the processes that stay.
  for (const { agent } of uploads) await ask(agent, 'HEAD', `${own.url}/-/live`);
  for (let kill = 0; kill < KILLS; kill++) {
    const pid = (await depotProcess(own)) as number;
    let further = random() * 6 * 1024 * KIB;
    let isKilled = false;
    const begun = uploads.map(({ offset }) => offset);
    const acknowledged = await Promise.all(
      uploads.map(({ write, offset, agent }, i) =>
        sendUntilBroken(
          ...([write, offset, content] as const),
          (_, upTo) => {
            if (upTo === begun[i]) return;
            further -= 64 * KIB;
            if (further >= 0 || isKilled) return;
            isKilled = true;
            // Without its supervisor it is not started again.
            own.child.kill('SIGSTOP');
            process.kill(pid, 'SIGKILL');
          },
          agent,
        ),
      ),
    );
    expect(isKilled).toBe(true);
    own.child.kill('SIGCONT');
    await until(async () => ![undefined, pid].includes(await depotProcess(own)));
    for (const [i, upload] of uploads.entries()) {
      let head = await askDepot('HEAD', upload.write).catch(() => undefined);
      await until(async () => {
        if (head?.status === 503) expect(head.headers.get('retry-after')).toMatch(/^[1-9]/);
        if (head?.status === 204) return true;
        head = await askDepot('HEAD', upload.write).catch(() => undefined);
        return false;
      });
      upload.offset = Number(head?.headers.get('upload-offset'));
      expect(upload.offset).toBeGreaterThanOrEqual(acknowledged[i] as number);
    }
  }
  for (const { write, read, offset, agent } of uploads) {
    const rest = content.subarray(offset);
    const { status, body } = await ask(agent, 'PATCH', write, patch(offset, true), rest);
    expect([status, JSON.parse(body.toString()).sha256]).toEqual([200, sha256(content)]);
    expect(sha256((await ask(agent, 'GET', read)).body)).toBe(sha256(content));
  }
  // While it is gone, whoever has a connection to another process is told to come again.
  const fresh = clients.map(() => new Agent({ keepAlive: true, maxSockets: 1 }));
  for (const agent of fresh) await ask(agent, 'GET', `${own.url}/-/live`);
  // By then the supervisor has let go of these connections.
  await own.status();
  own.child.kill('SIGSTOP');
  process.kill((await depotProcess(own)) as number, 'SIGKILL');
  const { read } = uploads[0] as Links;
  const answers = await Promise.allSettled(fresh.map((agent) => ask(agent, 'GET', read)));
  own.child.kill('SIGCONT');
  const told = answers.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  expect(told.map(({ status }) => status)).toEqual([503, 503]);
  for (const { headers, body } of told) {
    expect([headers['retry-after'], JSON.parse(body.toString()).code]).toEqual([
      ...['2', 'depot-unreachable'],
    ]);
  }
  // Programs wait for it by themselves.
  const to = join(stage.folder, 'got');
  const got = await runCli(['get', read, '-o', to, '--quiet'], {
    MILLRACE_STATE: join(stage.folder, 'state'),
  });
  expect([got.code, sha256(await readFile(to))]).toEqual([0, sha256(content)]);
  for (const agent of [...clients, ...fresh]) agent.destroy();
});
