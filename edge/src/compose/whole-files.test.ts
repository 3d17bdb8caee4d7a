import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { formatExnode } from '@millrace/shared/exnode/exnode-text';
import { formatDepotLink } from '@millrace/shared/http/urls/depot-link';
import { newPurge } from '../cache/purges.ts';
import type { Allocation } from '../depot/allocation.ts';
import { MIB, WholeStage } from './testing/whole-stage.ts';
import { MAX_DOCUMENT_BYTES } from './whole-files.ts';

const failing = (code: string) => expect.objectContaining({ code });
const content = randomBytes(2 * MIB + 5);
const HOUR = 3_600_000;

let stage: WholeStage;
beforeEach(async () => {
  stage = await WholeStage.open(3, 64 * MIB);
});
afterEach(() => stage.close());

describe('the file that an exNode describes', () => {
  test('is opened once, and again when the exNode has another edition', async () => {
    const exnode = await stage.copies(content, [0]);
    const document = await stage.document(exnode);
    const [one, two] = await Promise.all([stage.open(document), stage.open(document)]);
    expect(two?.url).toBe(one?.url);
    expect((await stage.open(document)).url).toBe(one?.url);
    await expect(stage.open({ ...document, sha256: 'a'.repeat(64) })).rejects.toEqual(
      failing('version-changed'),
    );
  });

  test("is opened once although this node's own replica is damaged", async () => {
    const exnode = await stage.copies(content, [0, 1]);
    const id = exnode.extents[0]?.replicas[0]?.read.split('/')[5] as string;
    const own = stage.depots[0]?.get(id) as Allocation;
    own.head = { ...own.head, damaged: true };
    const document = await stage.document(exnode);
    expect((await stage.open(document)).url).toBe((await stage.open(document)).url);
  });

  test.each([
    ['is no exNode', 'a text', 'bad-exnode'],
    ['is too long', ' '.repeat(MAX_DOCUMENT_BYTES + 1), 'bad-exnode'],
  ])('is refused if the document %s', async (_, text, code) => {
    await expect(stage.open(await stage.document(text))).rejects.toEqual(failing(code));
  });

  test('is refused if its root is not that of its digests', async () => {
    const exnode = await stage.copies(content, [0]);
    const text = formatExnode({ ...exnode, root: 'a'.repeat(64) }, true);
    await expect(stage.open(await stage.document(text))).rejects.toEqual(failing('bad-exnode'));
  });

  test('is lost where no depot of the network has all of it', async () => {
    const exnode = await stage.copies(content, [0]);
    const [extent] = exnode.extents;
    const foreign = { read: 'https://other.example/a', at: 0 };
    const replicas = extent?.replicas ?? [];
    const half = { start: 0, end: 2 * MIB, replicas };
    const rest = { start: 2 * MIB, end: content.length, replicas: [foreign] };
    const document = await stage.document({ ...exnode, extents: [half, rest] });
    const lost = {
      code: 'file-lost',
      detail: `no depot of this network has bytes ${2 * MIB}-${content.length - 1}`,
    };
    await expect(stage.open(document)).rejects.toEqual(expect.objectContaining(lost));
  });

  test('is not looked for in a circle: a link to a file is no replica, not even to itself', async () => {
    const exnode = await stage.copies(content, [0]);
    const { link } = await stage.document(exnode);
    const whole = formatDepotLink({ kind: 'file', id: link.id, secret: link.secret });
    const replicas = [{ read: `https://depot-0.example${whole}`, at: 0 }];
    const extents = exnode.extents.map((extent) => ({ ...extent, replicas }));
    const circle = await stage.document({ ...exnode, extents });
    await expect(stage.open(circle)).rejects.toEqual(failing('file-lost'));
  });

  test('is in depots of the network by whatever host their links name', async () => {
    const exnode = await stage.copies(content, [1]);
    const extents = exnode.extents.map((extent) => ({
      ...extent,
      replicas: extent.replicas.map((one) => ({
        ...one,
        read: one.read.replace('depot-1', 'all-depots'),
      })),
    }));
    const file = await stage.open(await stage.document({ ...exnode, extents }));
    expect(await stage.read(file)).toEqual(content);
  });

  test('ends with its exNode or its last replica, whichever is first', async () => {
    const exnode = await stage.copies(content, [0, 1]);
    const ending = (...ends: number[]) =>
      exnode.extents.map((extent) => ({
        ...extent,
        replicas: extent.replicas.map((one, i) => ({
          ...one,
          expires: stage.now + (ends[i] ?? 0),
        })),
      }));
    const until = async (...ends: number[]) => {
      const document = await stage.document({ ...exnode, extents: ending(...ends) });
      return (await stage.open(document)).expiresAt - stage.now;
    };
    expect(await until(HOUR / 4, HOUR / 2)).toBe(HOUR / 2);
    expect(await until(HOUR / 4, 2 * HOUR)).toBe(HOUR);
    // A copy that was given away before its owner has extended the leases.
    expect(await until(-HOUR, -HOUR)).toBe(HOUR);
  });

  test('of which a replica is deleted gives no block from before', async () => {
    const exnode = await stage.copies(content, [1]);
    const document = await stage.document(exnode);
    const file = await stage.open(document);
    expect(await stage.read(file)).toEqual(content);
    await stage.delete({ id: exnode.extents[0]?.replicas[0]?.read.split('/')[5] ?? '' });
    const again = await stage.open(document);
    await expect(stage.read(again)).rejects.toEqual(failing('file-lost'));
  });

  test("of which the replica in the node's own depot is deleted is lost at once", async () => {
    const exnode = await stage.copies(content, [0]);
    const document = await stage.document(exnode);
    expect(await stage.read(await stage.open(document))).toEqual(content);
    const [depot] = stage.depots;
    const allocation = depot?.get(exnode.extents[0]?.replicas[0]?.read.split('/')[5] ?? '');
    if (allocation === undefined) throw new Error('it is not there');
    await depot?.release(allocation);
    await expect(stage.open(document)).rejects.toEqual(failing('file-lost'));
  });

  test('is read again after a purge of everything', async () => {
    const document = await stage.document(await stage.copies(content, [1]));
    const file = await stage.open(document);
    await stage.read(file);
    const before = stage.fetched;
    await stage.purges.purge(newPurge({ kind: 'all' }, stage.now), true);
    expect(await stage.read(await stage.open(document))).toEqual(content);
    expect(stage.fetched).toBe(2 * before);
  });

  test('with capabilities that are wrong is not read', async () => {
    const exnode = await stage.copies(content, [1]);
    const extents = exnode.extents.map((extent) => ({
      ...extent,
      replicas: extent.replicas.map((one) => ({
        ...one,
        read: one.read.replace(/\/[\w-]{32}\//, `/${'x'.repeat(32)}/`),
      })),
    }));
    const file = await stage.open(await stage.document({ ...exnode, extents }));
    await expect(stage.read(file)).rejects.toEqual(failing('file-lost'));
  });
});
