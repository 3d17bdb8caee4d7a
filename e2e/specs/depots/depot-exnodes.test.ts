/** Files that lie in several depots: uploads that write exNodes, and downloads from all places. */

import { spawnSync } from 'node:child_process';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { testSeed } from '@millrace/shared/node/testing/test-seed';
import { seededRandom } from '../../../shared/src/base/clock.ts';
import { NAMES_FOR_NODE, named } from '../../fixtures/origins/public-names.ts';
import { runCli } from '../../fixtures/programs/processes.ts';
import {
  type Document,
  damage,
  digestAt,
  digestsOf,
  ExnodeStage,
  endsIn,
  eventsOf,
  runAria2,
  SilentDepot,
} from '../../fixtures/stages/exnode-stage.ts';
import { until } from '../../fixtures/until.ts';

const seed = testSeed('exNode tests');
const random = seededRandom(seed);

const MIB = 1024 * 1024;
const BYTES = 8 * MIB + 12_345;

const stage = await ExnodeStage.set(BYTES);
const { content, digest, edges, places, env, file } = stage;
const token = ['--token-file', stage.depots.tokenFile];
// No test needs aria2: where it is installed, it reads the Metalink as well.
const hasAria2 = spawnSync('aria2c', ['--version']).status === 0;
if (!hasAria2) process.stderr.write('aria2 is not installed: Millrace alone reads the Metalink\n');

describe('a file in several depots', () => {
  test('is stored as a copy at each, and downloaded from all by the link to its exNode', async () => {
    const exnode = stage.path('copies.exnode');
    const done = await stage.spread(edges, '-o', exnode);
    expect(done).toMatchObject({ event: 'done', exnode, bytes: BYTES, sha256: digest });
    expect((await stat(exnode)).mode & 0o777).toBe(0o600);
    expect(await digestsOf(done.wholes)).toEqual([digest, digest, digest]);
    const shared = await (await fetch(done.exnodes[2])).text();
    expect(shared).not.toMatch(/manage|\/-\/depot\//);
    expect(await readFile(exnode, 'utf8')).toMatch(/"manage":"http/);
    expect(await readdir(join(env.MILLRACE_STATE, 'uploads'))).toEqual([]);
    const folder = stage.path('got');
    await mkdir(folder);
    const { code, stdout } = await runCli(['get', done.links[1], '-d', folder]);
    expect([code, await digestAt(join(folder, 'talk.bin'))]).toEqual([0, digest]);
    expect(stdout).not.toContain('no longer used');
    // The same command would replace the only list of what is stored.
    await expect(stage.spread(edges, '-o', exnode)).rejects.toThrow('file-exists');
  });

  test('is complete although a depot is killed at any byte, and goes on after its own kill', async () => {
    const own = await stage.startDepots('d', 'e', 'f');
    const exnode = stage.path('parts.exnode');
    const done = await stage.spread(own, '--copies', '2', '-o', exnode);
    expect(done.wholes).toEqual([]);
    const { extents } = JSON.parse(await readFile(exnode, 'utf8'));
    expect(extents.length).toBeGreaterThan(2);
    const path = stage.path('parts.bin');
    const args = ['get', exnode, '-o', path, '--json'];
    // Another minute to the end, so that it is killed before that on any machine.
    const first = stage.listening([...args, '--limit', '128K']);
    const stored = (bytes: number) =>
      until(() => {
        if (first.child.exitCode !== null) throw new Error(`it has ended: ${first.lines()}`);
        return first.events().some(({ storedBytes = 0 }) => storedBytes > bytes);
      });
    await stored((random() * MIB) / 4);
    await own[Math.floor(random() * own.length)]?.stop('SIGKILL');
    await stored(MIB / 2);
    first.child.kill('SIGKILL');
    await first.result;
    const { code, stdout } = await runCli(args, env);
    const events = eventsOf(stdout);
    expect([code, await digestAt(path)]).toEqual([0, digest]);
    expect(events.find(({ event }) => event === 'start').resumedBytes).toBeGreaterThan(0);
    expect(events.at(-1).event).toBe('done');
  });

  test('is right although one place sends wrong bytes, which is found out and left', async () => {
    const exnode = stage.path('one.exnode');
    await stage.spread(edges.slice(0, 1), '-o', exnode);
    // Its answers keep every rule, and have wrong bytes.
    const read = places.add('/lying.bin', { body: content, damage });
    const { promise: hold, resolve: release } = Promise.withResolvers<void>();
    const good = places.add('/good.bin', { body: content, hold });
    const lying = await stage.changed(exnode, 'lying.exnode', (document) => {
      document.extents[0].shards[0] = [good, read.replace('127.0.0.1', 'localhost')].map((url) => ({
        read: url,
      }));
    });
    const path = stage.path('lying.bin');
    const run = stage.listening(['get', lying, '-o', path, '--json', '--connections', '4']);
    // The good place sends half of each answer, until the other one is left.
    await until(() => run.lines().includes('source-left-out'));
    release();
    expect([(await run.result).code, await digestAt(path)]).toEqual([0, digest]);
    const left = run.events().filter(({ note }) => note === 'source-left-out');
    expect(left.map(({ values }) => [values.source, values.code])).toEqual([
      [new URL(read).host.replace('127.0.0.1', 'localhost'), 'wrong-digest'],
    ]);

    const alone = await stage.changed(lying, 'alone.exnode', (document) => {
      document.extents[0].shards[0].splice(0, 1);
    });
    const wrong = await runCli(['get', alone, '-o', stage.path('alone.bin')]);
    expect([wrong.code, wrong.stderr]).toEqual([7, expect.stringContaining('their digest')]);
  });

  test('goes to the other depots when one stands still, and goes on there after a kill', async () => {
    const own = await stage.startDepots('g', 'h', 'i');
    const still = own[1] as (typeof own)[number];
    const exnode = stage.path('still.exnode');
    const args = ['upload', file, ...stage.at(own), ...token, '--copies', '1', '-o', exnode];
    process.kill(still.pid, 'SIGSTOP');
    try {
      const run = stage.listening([...args, '--json']);
      // On a busy machine, any depot may be slow for a moment.
      const isLeft = ({ event, edge }: Document) => event === 'depot-slow' && edge === still.url;
      await until(() => run.events().some(isLeft));
      run.child.kill('SIGKILL');
      await run.result;
      // The others have what they have taken over: the depot is not even asked.
      const { code, stdout } = await runCli([...args, '--json'], env);
      const events = eventsOf(stdout);
      expect([code, events.filter(isLeft)]).toEqual([0, []]);
      const copies = events.at(-1).exnodes.map((link: string) => new URL(link).origin);
      expect(copies.length).toBeGreaterThan(0);
      expect(copies).not.toContain(still.url);
    } finally {
      process.kill(still.pid, 'SIGCONT');
    }
    const document = JSON.parse(await readFile(exnode, 'utf8'));
    const read = (document.extents as Document[]).flatMap(({ shards }) => shards[0]);
    expect(read.map((one: Document) => new URL(one.read).origin)).not.toContain(still.url);
    const path = stage.path('still.bin');
    expect([(await runCli(['get', exnode, '-o', path])).code, await digestAt(path)]).toEqual([
      0,
      digest,
    ]);
    expect(await readdir(join(env.MILLRACE_STATE, 'uploads'))).toEqual([]);
  });

  test('goes to the other depots when one refuses, unless there are too few of them', async () => {
    const wrong = stage.path('wrong-token');
    await writeFile(wrong, 'not-the-token-of-any-owner\n');
    const tokens = [...token, '--token-file', wrong, ...token];
    const args = ['upload', file, ...stage.at(edges), ...tokens];
    const exnode = stage.path('refused.exnode');
    const { code, stderr } = await runCli([...args, '--copies', '2', '-o', exnode], env);
    const refusing = edges[1].url;
    expect([code, stderr]).toEqual([0, expect.stringContaining(`${refusing}: `)]);
    const text = await readFile(exnode, 'utf8');
    expect(text).not.toContain(refusing);
    const { extents } = JSON.parse(text);
    expect(extents.map(({ shards }: Document) => shards[0].length)).toEqual(extents.map(() => 2));
    expect((await runCli(['get', exnode, '-o', stage.path('refused.bin')])).code).toBe(0);
    expect(await digestAt(stage.path('refused.bin'))).toBe(digest);
    const all = await runCli([...args, '-o', stage.path('none.exnode')], env);
    expect([all.code, all.stderr]).toEqual([4, expect.stringContaining('token')]);
  });

  test('keeps its capabilities when a command is interrupted, which says so', async () => {
    const silent = await SilentDepot.start();
    const saidSo = [130, expect.stringMatching(/Interrupted/)];
    try {
      const upload = ['upload', file, '--edge', silent.url, ...token];
      expect(await stage.interrupted(silent, ...upload)).toEqual(saidSo);
      const exnode = stage.path('silent.exnode');
      await stage.spread(edges.slice(0, 1), '-o', exnode);
      const text = (await readFile(exnode, 'utf8')).replaceAll(edges[0].url, silent.url);
      await writeFile(exnode, text);
      const trim = ['trim', exnode, '--all', '--forget'];
      expect(await stage.interrupted(silent, ...trim)).toEqual(saidSo);
      expect(await readFile(exnode, 'utf8')).toBe(text);
    } finally {
      silent.stop();
    }
  });

  test('may be empty', async () => {
    const empty = stage.path('empty.bin');
    await writeFile(empty, '');
    const exnode = stage.path('empty.exnode');
    await stage.spreadOf(empty, edges, '-o', exnode);
    expect((await runCli(['get', exnode, '-o', stage.path('empty2.bin')])).code).toBe(0);
    expect((await stat(stage.path('empty2.bin'))).size).toBe(0);
  });

  test('that has bytes at no place is refused with their positions, and so are wrong exNodes', async () => {
    const exnode = stage.path('hole.exnode');
    await stage.spread(edges, '--copies', '1', '-o', exnode);
    const hole = await stage.changed(exnode, 'less.exnode', (document) => {
      document.extents.splice(1, 1);
    });
    const [, second] = JSON.parse(await readFile(exnode, 'utf8')).extents;
    const bytes = `bytes ${second.start}-${second.start + second.length - 1}`;
    const lost = await runCli(['get', hole, '-o', stage.path('less.bin')]);
    expect([lost.code, lost.stderr]).toEqual([7, expect.stringContaining(bytes)]);
    const root = await stage.changed(exnode, 'root.exnode', (document) => {
      document.size++;
    });
    expect((await runCli(['get', root, '--json'])).stdout).toContain('bad-exnode');
    const login = await runCli(['get', exnode, '--user', 'me:secret', '--json']);
    expect([login.code, login.stdout]).toEqual([2, expect.stringContaining('bad-option')]);
    // From a public server, it must not lead into the user's own network.
    const body = await readFile(exnode);
    const link = named(places.add('/talk.exnode', { body }));
    const names = { ...env, ...NAMES_FOR_NODE };
    const inside = await runCli(['get', link, '-o', stage.path('inside.bin'), '--json'], names);
    expect([inside.code, inside.stdout]).toEqual([7, expect.stringContaining('source-refused')]);
  });

  test('is trimmed and augmented: depots get their space back, and other links stay right', async () => {
    const [a, b, c] = edges.map(({ url }) => url) as [string, string, string];
    const before = await stage.room();
    const exnode = stage.path('trimmed.exnode');
    // A file of its own: of the other one, an upload that has failed may have left space to be used.
    const own = stage.path('own.bin');
    await writeFile(own, content);
    const { wholes } = await stage.spreadOf(own, edges, '-o', exnode);
    const full = await stage.room();
    // Written before a depot of it is gone.
    const meta4 = stage.path('own.meta4');
    expect((await runCli(['metalink', exnode, '-o', meta4], env)).code).toBe(0);
    expect(await readFile(meta4, 'utf8')).not.toMatch(/\/-\/depot\//);
    for (const [i, [bytes]] of full.entries())
      expect(bytes).toBeLessThan((before[i]?.[0] ?? 0) - BYTES);
    // Nothing is over or wrong.
    const unharmed = await stage.managing('trim', exnode, '--expired', '--damaged');
    expect(unharmed).toMatchObject([0, { removed: 0 }]);
    expect(await stage.room()).toEqual(full);

    expect(await stage.managing('trim', exnode, '--edge', b)).toMatchObject([0, { stale: [] }]);
    const [atA, atB, atC] = await stage.room();
    // Both others keep the file and a copy of the exNode, which has become shorter.
    expect([atA?.[1], atB, atC?.[1]]).toEqual([full[0]?.[1], before[1], full[2]?.[1]]);
    expect(await digestsOf(wholes)).toEqual(
      wholes.map((link: string) => (link.startsWith(b) ? 404 : digest)),
    );
    if (hasAria2) expect(await runAria2(meta4, stage.path('by-aria2'))).toBe(digest);
    expect(await stage.got(meta4, 'meta4.bin')).toEqual([0, digest]);
    expect(await stage.managing('stat', exnode, '--check')).toMatchObject([0, { mayFail: 1 }]);
    const to = ['--copies', '3', '--edge', b, ...token];
    expect((await runCli(['augment', exnode, ...to], env)).code).toBe(0);
    expect((await stage.managing('stat', exnode, '--verify'))[1]).toMatchObject({ mayFail: 2 });

    // The new replica is the last one after this.
    expect((await stage.managing('trim', exnode, '--edge', a, '--edge', c))[0]).toBe(0);
    expect(await digestsOf(wholes)).toEqual([404, 404, 404]);
    expect(await stage.got(exnode, 'of-b.bin')).toEqual([0, digest]);
    const last = await stage.managing('trim', exnode, '--edge', b);
    expect(last).toMatchObject([4, { code: 'last-replica' }]);
    expect(await stage.managing('trim', exnode, '--all')).toMatchObject([0, {}]);
    expect(await stage.room()).toEqual(before);
  });

  test('is managed by its exNode when a depot is lost and when bytes are wrong', async () => {
    const exnode = stage.path('managed.exnode');
    const { links } = await stage.spread(edges, '--copies', '2', '-o', exnode);
    const [, , lost] = edges;
    expect(await stage.managing('stat', exnode)).toMatchObject([0, { mayFail: 1, missing: [] }]);
    expect((await runCli(['stat', links[0]], env)).stdout).toContain('any 1 of 3 depots');
    const lying = await stage.changed(exnode, 'wrong.exnode', (document) => {
      document.extents[0].shards[0][0] = {
        read: places.add('/wrong.bin', { body: content, damage }),
      };
    });
    const [status, verified] = await stage.managing('stat', lying, '--verify');
    expect([status, verified.mayFail, verified.missing]).toEqual([3, 0, []]);
    const wrong = verified.replicas.filter((one: Document) => one.state !== 'there');
    expect(wrong).toMatchObject([{ state: 'damaged', code: 'wrong-digest', wrong: { first: 0 } }]);
    await lost.stop('SIGKILL');
    const checked = await stage.managing('stat', exnode, '--check');
    expect(checked).toMatchObject([3, { mayFail: 0, missing: [] }]);
    const silent = checked[1].replicas.filter((one: Document) => one.state === 'silent');
    expect(new Set(silent.map(({ read }: Document) => new URL(read).origin))).toEqual(
      new Set([lost.url]),
    );
    const before = await endsIn(exnode);
    const refreshed = await stage.managing('refresh', exnode, '--for', '20d');
    expect(refreshed[0]).toBe(3);
    for (const [i, [read, end]] of (await endsIn(exnode)).entries()) {
      const [, old] = before[i] as [string, number];
      if (read.startsWith(lost.url)) expect(end).toBe(old);
      else expect(end - old).toBeGreaterThan(12 * 86_400_000);
    }
    expect((await stat(exnode)).mode & 0o777).toBe(0o600);
    const copy = stage.path('given.exnode');
    await writeFile(copy, await (await fetch(links[0])).text());
    expect((await runCli(['refresh', copy, '--json'], env)).stdout).toContain('bad-exnode');
    // Some bytes lie at the lost depot and at this one only.
    const text = await readFile(exnode, 'utf8');
    const last = await stage.managing('trim', exnode, '--edge', edges[0].url);
    expect(last).toMatchObject([4, { code: 'last-replica' }]);
    expect(await readFile(exnode, 'utf8')).toBe(text);
    expect(await stage.managing('trim', exnode, '--edge', lost.url)).toMatchObject([
      3,
      { removed: 0 },
    ]);
    const forgotten = await stage.managing('trim', exnode, '--edge', lost.url, '--forget');
    expect(forgotten[0]).toBe(0);
    expect(await readFile(exnode, 'utf8')).not.toContain(lost.url);
    expect(await stage.managing('stat', exnode, '--check')).toMatchObject([0, { missing: [] }]);
    expect(await stage.got(exnode, 'trimmed.bin')).toEqual([0, digest]);
    expect((await stage.managing('trim', exnode, '--all'))[0]).toBe(0);
    expect((await fetch(links[0])).status).toBe(404);
  });
});
