/**
 * Uploads whose programs are killed: what a depot has acknowledged is never lost.
 * MILLRACE_DEPOT_KILLS sets how often the first test kills the depot (12; 100 for a long run), and
 * MILLRACE_TEST_SEED repeats the moments.
 */

import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { testSeed } from '@millrace/shared/node/testing/test-seed';
import { seededRandom } from '../../../shared/src/base/clock.ts';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { FileServer } from '../../fixtures/origins/file-server.ts';
import { CliProcess, type EdgeProcess } from '../../fixtures/programs/processes.ts';
import {
  appendTo,
  askDepot,
  DepotStage,
  owned,
  reserve,
  stateOf,
} from '../../fixtures/stages/depot-stage.ts';
import { sendUntilBroken } from '../../fixtures/stages/paced-upload.ts';
import { becomes, until } from '../../fixtures/until.ts';

const stage = await DepotStage.set();
const MIB = 1024 * 1024;
const KILLS = Number(process.env.MILLRACE_DEPOT_KILLS ?? 12);

const seed = testSeed('depot crash tests');
const random = seededRandom(seed);

test('a depot that is killed again and again during appends loses nothing that it has acknowledged', async () => {
  const content = contentOf('killed depot', 60 * MIB);
  const digest = sha256(content);
  let edge: EdgeProcess = await stage.start();
  let links = await reserve(edge, content.length);
  const complete: string[] = [];
  let offset = 0;
  let acknowledgements = 0;
  for (let kill = 0; kill < KILLS; kill++) {
    let ending: Promise<unknown> | undefined;
    const killed = edge;
    // The kill follows an acknowledgement, by up to 4 MiB that are under way.
    let further = random() * 4 * MIB;
    const begin = offset;
    const acknowledged = await sendUntilBroken(links.write, offset, content, (_, upTo) => {
      if (upTo === begin) return;
      further -= 64 * 1024;
      if (further < 0) ending ??= killed.stop('SIGKILL');
    });
    if (acknowledged > begin) acknowledgements++;
    await ending;
    // The upload may also have got to its end.
    await edge.stop('SIGKILL');
    edge = await stage.restart(edge);
    const { headers, status } = await askDepot('HEAD', links.write);
    expect(status).toBe(204);
    offset = Number(headers.get('upload-offset'));
    expect(offset).toBeGreaterThanOrEqual(acknowledged);
    if (headers.get('upload-complete') !== '?1') continue;
    complete.push(links.read);
    links = await reserve(edge, content.length);
    offset = 0;
  }
  expect(acknowledgements).toBeGreaterThan(KILLS / 2);
  const answer = await appendTo(links.write, offset, content.subarray(offset), true);
  expect([answer.status, answer.body.sha256]).toEqual([200, digest]);
  complete.push(links.read);
  const digestOf = async (read: string) =>
    sha256(Buffer.from(await (await fetch(read)).arrayBuffer()));
  for (const read of complete) expect(await digestOf(read)).toBe(digest);
  await edge.stop('SIGKILL');
  const again = await stage.restart(edge);
  for (const read of complete) expect(await digestOf(read)).toBe(digest);
  process.stderr.write(
    `${KILLS} kills, ${acknowledgements} of them after an acknowledgement; ${complete.length} files\n`,
  );
  await again.stop();
}, 900_000);

test('bytes that a crash has cut off or damaged are not counted', async () => {
  const dir = join(stage.folder, 'torn');
  let edge = await stage.start('--depot-dir', dir);
  const content = contentOf('torn', 500_000);
  const { write } = await reserve(edge, content.length);
  for (const [start, end] of [
    [0, 100_000],
    [100_000, 300_000],
  ] as const) {
    await appendTo(write, start, content.subarray(start, end), false);
  }
  await edge.stop('SIGKILL');
  const [folder = ''] = (await readdir(join(dir, 'objects'), { recursive: true })).filter((name) =>
    name.endsWith('sums'),
  );
  const sums = join(dir, 'objects', folder);
  const records = await readFile(sums);
  // The last record was only half written; bytes behind the acknowledged ones were written.
  await writeFile(sums, Buffer.concat([records.subarray(0, -16), records.subarray(-16, -7)]));
  const data = join(dir, 'objects', folder.replace(/sums$/, 'data'));
  await writeFile(data, Buffer.concat([await readFile(data), Buffer.alloc(10_000, 1)]));
  edge = await stage.restart(edge, '--depot-dir', dir);
  const offset = Number((await askDepot('HEAD', write)).headers.get('upload-offset'));
  expect(offset).toBe(262_144);
  const answer = await appendTo(write, offset, content.subarray(offset), true);
  expect([answer.status, answer.body.sha256]).toEqual([200, sha256(content)]);
});

test('a depot that is killed while it reads thousands of allocations loses none, and counts all before it answers', async () => {
  const dir = join(stage.folder, 'many');
  let edge = await stage.start('--depot-dir', dir);
  const content = contentOf('one of many', 200_000);
  const [whole, part] = [await reserve(edge, content.length), await reserve(edge, content.length)];
  await appendTo(whole.write, 0, content, true);
  await appendTo(part.write, 0, content.subarray(0, 131_072), false);
  const room = async () => (await askDepot('GET', `${edge.url}/-/depot`, owned())).body.bytes;
  const before = await room();
  await edge.stop('SIGKILL');
  const folderOf = (id: string) => {
    const hex = Buffer.from(id, 'base64url').toString('hex');
    return join(dir, 'objects', hex.slice(0, 2), hex.slice(2));
  };
  const [, id = ''] = /\/d\/([^/]+)\//.exec(whole.read) ?? [];
  const head = await readFile(join(folderOf(id), 'head'), 'utf8');
  const [MANY, EACH] = [3000, 1000];
  const small = head.replaceAll(String(content.length), String(EACH));
  for (let i = 0; i < MANY; i++) {
    const other = Buffer.from(id, 'base64url');
    other.writeUInt32BE(i, 0);
    const name = other.toString('base64url');
    await mkdir(folderOf(name), { recursive: true });
    await writeFile(join(folderOf(name), 'head'), small.replace(id, name));
  }
  // The first one is killed as soon as it listens; the second is asked as soon as it does.
  await (await stage.restart(edge, '--depot-dir', dir)).stop('SIGKILL');
  edge = await stage.restart(edge, '--depot-dir', dir);
  const asked = [askDepot('HEAD', part.write), fetch(whole.read), room()] as const;
  const [upload, answer, left] = await Promise.all(asked);
  expect(upload.headers.get('upload-offset')).toBe('131072');
  expect(sha256(Buffer.from(await answer.arrayBuffer()))).toBe(sha256(content));
  expect(left).toBe(before - MANY * EACH);
  const rest = await appendTo(part.write, 131_072, content.subarray(131_072), true);
  expect([rest.status, rest.body.sha256]).toEqual([200, sha256(content)]);
  await edge.stop();
});

test('standard input is stored as it comes, also by a depot that is killed meanwhile; what has ended leaves nothing', async () => {
  const dir = join(stage.folder, 'streamed');
  let edge = await stage.start('--depot-dir', dir);
  const content = contentOf('standard input', 40 * MIB);
  const state = join(stage.folder, 'state of streams');
  const begin = (...options: string[]) => {
    const args = ['upload', '-', '--edge', edge.url, '--token-file', stage.tokenFile, '--json'];
    return new CliProcess([...args, ...options], { MILLRACE_STATE: state }, 'pipe');
  };
  const used = async () => (await edge.status()).admission.depotBytes?.use ?? 0;
  const nameless = begin();
  expect(await nameless.result).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--name'),
  });

  const run = begin('--name', 'all of it.bin');
  const input = run.child.stdin as NodeJS.WritableStream;
  // The first part is 16 MiB: it is sent before there is more.
  input.write(content.subarray(0, 20 * MIB));
  await until(async () => (await used()) > 0);
  await edge.stop('SIGKILL');
  edge = await stage.restart(edge, '--depot-dir', dir);
  input.end(content.subarray(20 * MIB));
  const { code, stdout } = await run.result;
  const done = JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
  expect([code, done]).toMatchObject([0, { bytes: content.length, sha256: sha256(content) }]);
  expect(new URL(done.link).pathname).toMatch(/all.*bin$/);
  const stored = Buffer.from(await (await fetch(done.link)).arrayBuffer());
  expect(stored.equals(content)).toBe(true);
  expect(await used()).toBe(content.length);

  const ended = begin('--name', 'ended');
  const rest = ended.child.stdin as NodeJS.WritableStream;
  // Its end may come before it has read all of its input.
  rest.on('error', () => {});
  rest.write(content.subarray(0, 20 * MIB));
  await until(async () => (await used()) > content.length);
  ended.child.kill('SIGINT');
  await ended.result;
  await until(async () => (await used()) === content.length);
  await edge.stop();
});

test('a pull whose depot is killed goes on where it stood when it is posted again, and from depot to depot', async () => {
  const origin = await FileServer.start();
  const content = contentOf('pulled', 8 * MIB);
  const from = [origin.add('/gone', { body: content, refuse: () => 404 })];
  from.push(origin.add('/file', { body: content }));
  const half = content.length / 2;
  const parts = [0, half].map((start) => ({ from, start, bytes: half }));
  const wanted = { parts, sha256: sha256(content) };
  const options = ['--depot-dir', join(stage.folder, 'pulled'), '--allow-origin', origin.url('')];
  await stage.setOwners('alice', 'rate=256KiB/s');
  let edge = await stage.start(...options);
  const { write, manage, read } = await reserve(edge, content.length);
  const pullState = async () => (await askDepot('GET', manage)).body.pull;
  const { status, body } = await askDepot('POST', `${write}/pull`, {}, wanted);
  expect([status, body.pull.state]).toEqual([202, 'running']);
  // The questions end no pull.
  await until(async () => Number((await stateOf(write))[0]) >= MIB / 4);
  expect(await pullState()).toMatchObject({ state: 'running' });
  expect((await edge.status()).admission.pulls?.use).toBe(1);
  await edge.stop('SIGKILL');
  await stage.setOwners('alice');
  edge = await stage.restart(edge, ...options, '--public-url', edge.url);
  expect(await pullState()).toMatchObject({ state: 'failed', code: 'interrupted' });
  const [stored] = await stateOf(write);
  expect(stored).toBeGreaterThanOrEqual(MIB / 4);
  const before = origin.sentBytes;
  expect((await askDepot('POST', `${write}/pull`, {}, wanted)).status).toBe(202);
  await becomes(async () => (await stateOf(write))[1], '?1');
  expect(origin.sentBytes - before).toBe(content.length - Number(stored));
  const digestOf = async (link: string) =>
    sha256(Buffer.from(await (await fetch(link)).arrayBuffer()));
  expect([await digestOf(read), await pullState()]).toEqual([sha256(content), undefined]);
  await origin.stop();
  // Its own links are of its network; the other depot has to be allowed.
  const other = await stage.start(
    ...['--depot-dir', join(stage.folder, 'other'), '--allow-origin', edge.url],
  );
  for (const at of [edge, other]) {
    const copy = await reserve(at, content.length);
    const link = { from: [read], start: 0, bytes: content.length };
    expect((await askDepot('POST', `${copy.write}/pull`, {}, { parts: [link] })).status).toBe(202);
    const stateOfCopy = async () => (await askDepot('GET', copy.manage)).body;
    await until(async () => (await stateOfCopy()).pull?.state !== 'running');
    expect(await stateOfCopy()).toMatchObject({ complete: true, sha256: sha256(content) });
    expect(await digestOf(copy.read)).toBe(sha256(content));
  }
  const refused = await askDepot('POST', `${write}/pull`, {}, { parts: [{ from: ['ftp://x/'] }] });
  expect([refused.status, refused.body.code]).toEqual([400, 'bad-request']);
});

test('an upload that is killed at any time, and whose depot is, continues with the same command', async () => {
  const dir = join(stage.folder, 'client');
  // At this rate an upload takes 25 s, so that none gets to its end before it is killed.
  await stage.setOwners('alice', 'rate=2MiB/s');
  let edge = await stage.start('--depot-dir', dir);
  const content = contentOf('killed client', 50 * MIB);
  const file = join(stage.folder, 'client.bin');
  await writeFile(file, content);
  const state = join(stage.folder, 'state');
  const args = ['upload', file, '--edge', edge.url, '--token-file', stage.tokenFile, '--json'];
  const begin = () => new CliProcess(args, { MILLRACE_STATE: state });
  const allocations = async () => (await readdir(join(dir, 'objects'))).length;
  const journals = async () =>
    (await readdir(join(state, 'uploads')).catch(() => [])).filter((name) => /json$/.test(name));
  for (const sent of [0, MIB, 3 * MIB]) {
    const before = await receivedBytes(edge);
    const client = begin();
    await until(async () => (await journals()).length > 0);
    await until(async () => (await receivedBytes(edge)) >= before + sent);
    client.child.kill('SIGKILL');
    await client.result;
    expect(await allocations()).toBe(1);
  }
  const before = await receivedBytes(edge);
  const last = begin();
  await until(async () => (await receivedBytes(edge)) > before + MIB);
  await edge.stop('SIGKILL');
  await stage.setOwners('alice');
  edge = await stage.restart(edge, '--depot-dir', dir);
  const { code, stdout } = await last.result;
  const lines = stdout.trim().split('\n');
  const done = JSON.parse(lines.at(-1) ?? '');
  expect([code, done.event, done.sha256]).toEqual([0, 'done', sha256(content)]);
  expect(await allocations()).toBe(1);
  expect(sha256(Buffer.from(await (await fetch(done.link)).arrayBuffer()))).toBe(sha256(content));
  expect(await readdir(join(state, 'uploads'))).toEqual([]);
});

test('a file that has changed is uploaded anew, and one that the depot has lost as well', async () => {
  const dir = join(stage.folder, 'changed');
  let edge = await stage.start('--depot-dir', dir);
  const file = join(stage.folder, 'changed.bin');
  const args = ['upload', file, '--edge', edge.url, '--token-file', stage.tokenFile, '--json'];
  const env = { MILLRACE_STATE: join(stage.folder, 'state-2') };
  /** Starts the depot anew, with words about its owner. */
  const restart = async (...words: string[]) => {
    await edge.stop();
    await stage.setOwners('alice', ...words);
    edge = await stage.restart(edge, '--depot-dir', dir);
  };
  const kill = async () => {
    // At this rate an upload takes a minute.
    await restart('rate=512KiB/s');
    const client = new CliProcess(args, env);
    await until(async () => (await receivedBytes(edge)) > MIB / 2);
    client.child.kill('SIGKILL');
    await client.result;
    await restart();
  };
  const finish = async () => {
    const { stdout } = await new CliProcess(args, env).result;
    const lines = stdout.trim().split('\n');
    return lines.map((line) => JSON.parse(line));
  };
  await writeFile(file, contentOf('before', 40 * MIB));
  await kill();
  await writeFile(file, contentOf('after', 30 * MIB));
  const digest = sha256(contentOf('after', 30 * MIB));
  expect((await finish()).at(-1)).toMatchObject({ event: 'done', sha256: digest });
  // Nothing is left of the first state.
  await becomes(async () => (await edge.status()).admission.depotBytes?.use, 30 * MIB);
  await kill();
  const [record = ''] = (await readdir(join(env.MILLRACE_STATE, 'uploads'))).filter((name) =>
    name.endsWith('json'),
  );
  const kept = JSON.parse(await readFile(join(env.MILLRACE_STATE, 'uploads', record), 'utf8'));
  expect((await askDepot('DELETE', kept.allocated.manage)).status).toBe(204);
  const events = await finish();
  expect(events.map(({ event }) => event)).toContain('anew');
  expect(events.at(-1)).toMatchObject({ event: 'done', sha256: digest });
});

async function receivedBytes(edge: EdgeProcess): Promise<number> {
  const metrics = await (await fetch(`${edge.url}/-/metrics`)).text();
  return Number(/^millrace_depot_received_bytes_total (\d+)$/m.exec(metrics)?.[1]);
}
