import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { MillraceError } from '@millrace/shared/base/errors';
import { silentLog } from '@millrace/shared/base/log';
import { depotFileUrl } from '@millrace/shared/cdn/depot/depot-file';
import { EXNODE_TYPE } from '@millrace/shared/exnode/exnode';
import { newPurge, Purges } from '../cache/purges.ts';
import { versionOf } from '../compose/stored-ranges.ts';
import type { StoredFile } from '../peers/depot-message.ts';
import { proofOf } from '../policy/proofs.ts';
import { ExnodeKeeper } from './exnode-keeper.ts';
import { KeptExnodes } from './kept-exnodes.ts';

const HOUR = 3_600_000;
const CHUNK = 64 * 1024;
const ID = 'AAAAAAAAAAAAdpot';
const PROOF = proofOf('s'.repeat(32));
const { signal } = new AbortController();
const failing = (code: string) => expect.objectContaining({ code });
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

let dir = '';
let now = 0;
let depot: ReturnType<typeof depotWith>;
let purges: Purges;

/** A depot of another node, with one exNode. */
function depotWith(text: Buffer) {
  const has = {
    ...{ text, edition: undefined as number | undefined, leaseEnd: now + HOUR, type: EXNODE_TYPE },
    ...{ isKnown: true, isThere: true, ended: false, asked: 0, fetched: 0 },
    /** Called while a question is under way. */
    onAsked: async () => {},
  };
  return {
    has,
    knows: () => has.isKnown,
    answers: () => has.isKnown && has.isThere,
    async ask(_id: string, proof: string): Promise<StoredFile> {
      has.asked++;
      if (!has.isThere) throw new MillraceError('depot-unreachable');
      if (has.ended || !has.isKnown || proof !== PROOF)
        throw new MillraceError('no-such-allocation');
      const { text: stored, edition, type } = has;
      const leftMs = has.leaseEnd - now;
      await has.onAsked();
      const length = stored.length;
      return { length, sha256: sha256(stored), name: 'a.exnode', type, edition, leftMs };
    },
    async fetch({ range }: { range: { start: number; end: number } }) {
      has.fetched++;
      return { data: has.text.subarray(range.start, range.end), release() {} };
    },
  };
}

async function open(quotaBytes = 64 * 1024 * 1024): Promise<ExnodeKeeper> {
  const kept = await KeptExnodes.open({ dir, quotaBytes, log: silentLog });
  return new ExnodeKeeper({
    ...{ kept, purges, depots: depot, settled: Promise.resolve(), log: silentLog },
    ...{ isBlocked: () => false, chunkBytes: CHUNK, wallClock: () => now },
  });
}

async function textAt(keeper: ExnodeKeeper, edition = depot.has.edition): Promise<string> {
  const { length } = depot.has.text;
  const version = versionOf(ID, length, edition);
  return (await keeper.read({ version, range: { start: 0, end: length } })).toString();
}

async function purge(): Promise<void> {
  await purges.purge(newPurge({ kind: 'url', url: depotFileUrl(ID) }, now), true);
}

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'millrace-keeper-'));
  now = 1_800_000_000_000;
  purges = new Purges();
  depot = depotWith(Buffer.alloc(2 * CHUNK + 17, 'an exNode '));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

test('a copy is that of the depot, and there without it, also after a restart', async () => {
  let keeper = await open();
  await keeper.keep(ID, PROOF, signal);
  depot.has.isThere = false;
  const text = depot.has.text.toString();
  for (let run = 0; run < 2; run++) {
    const { leftMs, ...found } = await keeper.findFor(ID, PROOF);
    expect(found).toMatchObject({ length: text.length, type: EXNODE_TYPE, name: 'a.exnode' });
    expect(leftMs).toBe(HOUR);
    expect(await textAt(keeper)).toBe(text);
    keeper = await open();
  }
  await expect(keeper.findFor(ID, proofOf('other'))).rejects.toEqual(failing('no-such-allocation'));
});

test('a copy follows its depot: another lease, another edition, the end', async () => {
  const keeper = await open();
  await keeper.keep(ID, PROOF, signal);
  depot.has.leaseEnd += HOUR;
  await keeper.keep(ID, PROOF, signal);
  expect([depot.has.fetched, (await keeper.findFor(ID, PROOF)).leftMs]).toEqual([3, 2 * HOUR]);
  expect((await (await open()).findFor(ID, PROOF)).leftMs).toBe(2 * HOUR);
  Object.assign(depot.has, { text: Buffer.alloc(100, 'other '), edition: 1 });
  await keeper.keep(ID, PROOF, signal);
  expect(await textAt(keeper)).toBe(depot.has.text.toString());
  expect(keeper.has({ version: versionOf(ID, 100) })).toBe(false);
  now += 2 * HOUR;
  keeper.collect();
  await keeper.close();
  expect(await readdir(join(dir, 'exnodes'))).toEqual([]);
});

test('a copy of which a purge tells is not used until the depot has said what is right', async () => {
  const keeper = await open();
  await keeper.keep(ID, PROOF, signal);
  depot.has.isThere = false;
  await purge();
  await expect(keeper.findFor(ID, PROOF)).rejects.toEqual(failing('no-such-allocation'));
  await expect(textAt(keeper)).rejects.toEqual(failing('no-such-allocation'));
  // A depot that nobody knows any more has said nothing either.
  depot.has.isKnown = false;
  await expect(keeper.keep(ID, PROOF, signal)).rejects.toEqual(failing('depot-unreachable'));
  Object.assign(depot.has, { isThere: true, isKnown: true });
  await keeper.keep(ID, PROOF, signal);
  expect((await keeper.findFor(ID, PROOF)).leftMs).toBe(HOUR);
  // Deleted: nothing stays on the disk.
  depot.has.ended = true;
  await purge();
  await expect(keeper.keep(ID, PROOF, signal)).rejects.toEqual(failing('no-such-allocation'));
  expect(await readdir(join(dir, 'exnodes'))).toEqual([]);
});

test('a purge while the depot is asked is not overlooked', async () => {
  const keeper = await open();
  depot.has.onAsked = async () => {
    depot.has.onAsked = async () => {};
    Object.assign(depot.has, { text: Buffer.alloc(50, 'new'), edition: 1 });
    await purge();
  };
  await expect(keeper.keep(ID, PROOF, signal)).rejects.toEqual(failing('wrong-digest'));
  await keeper.keep(ID, PROOF, signal);
  expect(await textAt(keeper)).toBe(depot.has.text.toString());
});

test('a wrong proof ends no copy', async () => {
  const keeper = await open();
  await keeper.keep(ID, PROOF, signal);
  const other = proofOf('other');
  await expect(keeper.keep(ID, other, signal)).rejects.toEqual(failing('no-such-allocation'));
  expect(await textAt(keeper)).toBe(depot.has.text.toString());
});

test('what is no exNode is refused, and so are more than there is room for', async () => {
  const keeper = await open(64 * 5 * CHUNK);
  await expect(keeper.keep(ID, PROOF, signal)).rejects.toEqual(failing('allocation-refused'));
  depot.has.text = Buffer.alloc(CHUNK);
  depot.has.type = 'text/plain';
  await expect(keeper.keep(ID, PROOF, signal)).rejects.toEqual(failing('allocation-refused'));
  depot.has.type = EXNODE_TYPE;
  await keeper.keep(ID, PROOF, signal);
  // A quarter of the room is the most for one depot.
  const second = `BBBBBBBBBBBB${ID.slice(-4)}`;
  await expect(keeper.keep(second, PROOF, signal)).rejects.toEqual(failing('allocation-refused'));
  await keeper.keep('BBBBBBBBBBBBoter', PROOF, signal);
});

test('damage on the disk is found, and no damaged byte is given', async () => {
  let keeper = await open();
  await keeper.keep(ID, PROOF, signal);
  const [name = ''] = await readdir(join(dir, 'exnodes'));
  const path = join(dir, 'exnodes', name);
  const bytes = await readFile(path);
  bytes[bytes.length - 1] = (bytes.at(-1) as number) ^ 1;
  await writeFile(path, bytes);
  await expect(textAt(keeper)).rejects.toEqual(failing('no-such-allocation'));
  await expect(keeper.findFor(ID, PROOF)).rejects.toEqual(failing('no-such-allocation'));
  // The depot has it still.
  await keeper.keep(ID, PROOF, signal);
  expect(await textAt(keeper)).toBe(depot.has.text.toString());
  await writeFile(path, '{"format": 1}\n');
  await writeFile(`${path}.new`, 'half of it');
  keeper = await open();
  await expect(keeper.findFor(ID, PROOF)).rejects.toEqual(failing('no-such-allocation'));
  expect(await readdir(join(dir, 'exnodes'))).toEqual([]);
});
