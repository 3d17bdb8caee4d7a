/** The examples in shared/README.md, from which others write clients, are read by our own readers. */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { segmentDigest } from '../desktop/engine/partial/segment-digest.ts';
import { checkLink } from '../shared/node/link-signature.ts';
import { parseNativeRequest } from '../shared/src/bridge/native/native-request.ts';
import { hashText, rank, score } from '../shared/src/cdn/routing/hrw.ts';
import { parseJournal } from '../shared/src/download/journal/journal.ts';
import { parseExnode } from '../shared/src/exnode/exnode-text.ts';
import { parsePrefixedTarget } from '../shared/src/http/urls/prefixed-url.ts';
import { parseSignedTarget } from '../shared/src/http/urls/signed-link.ts';
import { parseManifest } from '../shared/src/sync/manifest.ts';

const PAGE = readFileSync(new URL('../shared/README.md', import.meta.url), 'utf8');
/** The indented blocks, without their indentation. */
const BLOCKS = [...PAGE.matchAll(/(?<=\n)(?: {4}.*\n|\n(?= {4}))+/g)].map(([block]) =>
  block.replace(/^ {4}/gm, '').trim(),
);

function blockWith(text: string): string {
  const found = BLOCKS.filter((block) => block.includes(text));
  expect(found).toHaveLength(1);
  return found[0] as string;
}

test('every spelling of a link through an edge names the same file', () => {
  const targets = blockWith('/https%3A').split(/\s+/);
  expect(targets).toHaveLength(4);
  for (const target of targets) {
    const { href } = parsePrefixedTarget(target, { defaultScheme: 'https' });
    expect(href).toBe('https://example.com/a.iso');
  }
});

test('the signed links are valid with the secret of the example until they expire', () => {
  const targets = blockWith('/-/signed/1767225600.').split('\n');
  expect(targets).toHaveLength(2);
  for (const target of targets) {
    const { permit, url } = parseSignedTarget(target, { defaultScheme: 'https' });
    const secrets = ['an example secret'];
    expect(checkLink(permit, url, secrets, 1_767_225_599_999).permit).toBe(permit);
    expect(() => checkLink(permit, url, secrets, 1_767_225_600_000)).toThrow();
    expect(() => checkLink(permit, url, ['another example'], 0)).toThrow();
  }
});

test('hashes and scores of chunks are those of the routing', () => {
  const block = blockWith('hash("a")');
  const [, high, low] = /hash\("a"\) +(\w{8}) (\w{8})/.exec(block) ?? [];
  expect(hashText('a')).toEqual({ high: Number(`0x${high}`), low: Number(`0x${low}`) });
  const scores = [...block.matchAll(/score\("(.*)", (\w+), 1\) +([\d.]+)/g)];
  expect(scores).toHaveLength(2);
  for (const [, key = '', name = '', value] of scores) {
    const uniform = score(hashText(key), hashText(name));
    expect(-1 / Math.log((uniform + 0.5) / 2 ** 53)).toBeCloseTo(Number(value), 12);
  }
  const nodes = scores.map(([, , name = '']) => ({ name, seed: hashText(name), weight: 1 }));
  const [best] = scores.toSorted(([, , , a], [, , , b]) => Number(b) - Number(a));
  expect(rank(best?.[1] ?? '', nodes, 1)[0]?.name).toBe(best?.[2]);
});

test('the journal has the known format, and its digest matches its bytes', () => {
  const text = `${blockWith('"millrace":"journal"')}\n${blockWith('["flushed",1]')}\n`;
  const journal = parseJournal(text);
  expect(journal?.header).toMatchObject({ url: 'https://example.com/a.iso', length: 1234 });
  expect(journal?.flushed).toBe(1);
  const bytes = Buffer.from('abc');
  const digest = segmentDigest(bytes);
  expect(journal?.entries).toEqual([{ range: { start: 0, end: 3 }, digest }]);
});

test('the manifest is read', () => {
  const { files, folders } = parseManifest(blockWith('"millrace-sync"'), false);
  expect(folders).toEqual(['empty']);
  expect(files.map(({ path }) => path)).toEqual(['sub/a.txt']);
});

test('the greeting of the native host is read, and the table lists its types of request', () => {
  const [request = ''] = blockWith('"type": "hello"').split('\n');
  expect(parseNativeRequest(JSON.parse(request))).toMatchObject({ id: 1, type: 'hello' });
  const [, table = ''] = /\| `type` \|.*\n\|---.*\n((?:\|.*\n)+)/.exec(PAGE) ?? [];
  const listed = [...table.matchAll(/^\| `(\w+)`/gm)].map(([, type]) => type);
  // The error for an unknown type lists the known ones.
  const unknown = () => parseNativeRequest({ id: 1, type: '' });
  expect(unknown).toThrow(/type is not one of/);
  for (const type of listed) expect(unknown).toThrow(new RegExp(`\\b${type}\\b`));
  expect(listed).toHaveLength(11);
});

test('the exNode can be read, and describes the bytes that its example has digests of', () => {
  const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
  const exnode = parseExnode(blockWith('"exnode": 1'), sha256);
  const digest = sha256(Buffer.from('abc'));
  expect(exnode).toMatchObject({ sha256: digest, blocks: { hexes: [digest] } });
  expect(exnode.extents.map(({ replicas }) => replicas.map(({ at }) => at))).toEqual([[0, 4096]]);
});
