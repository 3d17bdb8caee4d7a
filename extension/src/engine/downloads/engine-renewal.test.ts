/** A failed or paused download continues when its file is offered or added again. */

import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { seededRandom } from '@millrace/shared/base/clock';
import type { EngineResults } from '../../contract/protocol.ts';
import type { Asked } from '../../testing/fake-origin.ts';
import { FakeOrigin } from '../../testing/fake-origin.ts';
import { offerOf, World } from '../../testing/fake-surroundings.ts';

const LENGTH = 3 * 1024 * 1024 + 12_345;
const OLD = 'http://origin.example/file.bin?sig=old';
const NEW = 'http://mirror.example/other/file.bin?sig=new';
const FILE = new Uint8Array(LENGTH).map((_, i) => (i * 31 + (i >> 11)) % 251);
const digestOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const OFFER = { handOff: 'new', fileName: 'file (1).bin' };

/** A paused download that holds the first bytes of its file. */
async function stopped() {
  const origin = new FakeOrigin(FILE);
  const it = new World(origin.fetch, seededRandom(1));
  const engine = await it.start();
  // The first answers bring bytes, and the others none.
  origin.fault = (asked, count) => (count > 3 ? origin.broken(asked, 0) : undefined);
  await engine.call(offerOf(OLD, LENGTH, { handOff: 'old', fileName: 'file.bin' }));
  await engine.call({ type: 'commit', handOff: 'old' });
  await it.until(engine, ([record]) => (record?.storedBytes ?? 0) > 0);
  await engine.call({ type: 'command', id: 'old', command: 'pause' });
  const { storedBytes } = it.records.records.get('old') ?? { storedBytes: 0 };
  expect(storedBytes).toBeGreaterThan(0);
  origin.asked.length = 0;
  origin.sentBytes = 0;
  origin.fault = ({ url }) => (url === OLD ? new Response(null, { status: 403 }) : undefined);
  origin.etag = '"2"';
  return { origin, it, engine, storedBytes };
}

const isSaving = ([record]: readonly { state: string }[]) => record?.state === 'saving';
const ofNew = (more: object = {}) => offerOf(NEW, LENGTH, { ...OFFER, etag: '"2"', ...more });

describe('the file of a paused download, offered again', () => {
  test('continues it: no byte is wrong, and stored ones are not fetched again', async () => {
    const { origin, it, engine } = await stopped();
    await engine.call(ofNew());
    expect(it.records.records.get('old')).toMatchObject({ state: 'paused', url: OLD });
    const asked = origin.sentBytes;
    expect(await engine.call({ type: 'commit', handOff: 'new' })).toEqual({ id: 'old' });
    expect(await engine.call({ type: 'commit', handOff: 'new' })).toEqual({ id: 'old' });
    expect(await engine.call({ type: 'offerState', handOff: 'new' })).toEqual({
      state: 'committed',
      id: 'old',
    });
    await it.until(engine, isSaving);
    expect((await it.saveAll(engine)).map(digestOf)).toEqual([digestOf(FILE)]);
    expect(it.records.records.size).toBe(1);
    expect(origin.sentBytes - asked).toBeLessThan(LENGTH);
  });

  test('that is offered for nothing else becomes no second download', async () => {
    const { it, engine } = await stopped();
    const other = ofNew({ handOff: 'other', fileName: 'other.bin', onlyRenews: true });
    await expect(engine.call(other)).rejects.toMatchObject({ problem: 'refused' });
    await engine.call(ofNew({ onlyRenews: true }));
    expect(await engine.call({ type: 'commit', handOff: 'new' })).toEqual({ id: 'old' });
    expect(it.records.records.size).toBe(1);
  });

  test('keeps its bytes over the end of the browser', async () => {
    const { origin, it, engine, storedBytes } = await stopped();
    await engine.call(ofNew());
    origin.down = true;
    await engine.call({ type: 'commit', handOff: 'new' });
    await it.crash();
    const again = await it.start();
    // Nothing can be fetched yet, so these are the bytes from before.
    let shown = 0;
    const look = async () => {
      const { downloads } = (await again.call({ type: 'list' })) as EngineResults['list'];
      shown = downloads[0]?.storedBytes ?? 0;
    };
    await it.until(again, () => {
      void look();
      return shown > 0;
    });
    expect(shown).toBe(storedBytes);
    origin.down = false;
    await it.until(again, isSaving);
    expect((await it.saveAll(again)).map(digestOf)).toEqual([digestOf(FILE)]);
  });

  test('of which one stored byte differs becomes a second download, and the first one stays', async () => {
    const { origin, it, engine } = await stopped();
    const other = FILE.map((byte) => byte ^ 1);
    origin.fault = ({ range: { start, end } }: Asked) =>
      origin.answer(start, end, other.slice(start, end));
    const before = it.records.records.get('old');
    await engine.call(ofNew());
    expect(await engine.call({ type: 'commit', handOff: 'new' })).toEqual({ id: 'new' });
    await it.until(engine, (records) => records.some(({ state }) => state === 'saving'));
    expect((await it.saveAll(engine)).map(digestOf)).toEqual([digestOf(other)]);
    expect(it.records.records.get('old')).toEqual(before);
    expect(it.files.files.has('old')).toBe(true);
  });

  test('and removed during the comparison, it is a second download', async () => {
    const { origin, it, engine } = await stopped();
    let ended: Promise<unknown> | undefined;
    origin.fault = (_asked, count) => {
      if (count === 2) ended = engine.call({ type: 'command', id: 'old', command: 'remove' });
      return undefined;
    };
    await engine.call(ofNew());
    await ended;
    expect(await engine.call({ type: 'commit', handOff: 'new' })).toEqual({ id: 'new' });
    await it.until(engine, isSaving);
    expect((await it.saveAll(engine)).map(digestOf)).toEqual([digestOf(FILE)]);
  });
});

test('an added link continues a paused download, and one of another name does not ask', async () => {
  const { origin, it, engine } = await stopped();
  const link = { headers: {}, edges: [] };
  const add = (url: string) => engine.call({ type: 'add', links: [{ ...link, url }] });
  origin.down = true;
  expect(await add('http://mirror.example/another.bin')).not.toEqual({ ids: ['old'] });
  expect(it.records.records.size).toBe(2);
  origin.down = false;
  expect(await add(NEW)).toEqual({ ids: ['old'] });
  await it.until(engine, isSaving);
  expect(digestOf((await it.saveAll(engine))[0] as Uint8Array)).toBe(digestOf(FILE));
});
