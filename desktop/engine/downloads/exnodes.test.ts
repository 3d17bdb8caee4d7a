/** Downloads that exNodes describe: what a request keeps of one. */

import { createHash } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { rootOf } from '@millrace/shared/exnode/exnode';
import { formatExnode } from '@millrace/shared/exnode/exnode-text';
import { sealHead } from '../seal/sealed-head.ts';
import { openKept } from '../stored/read-exnode.ts';
import { exportList } from './exchange.ts';
import { describeExnode, exnodeDownload, withExnode } from './exnodes.ts';
import { newRecord } from './new-download.ts';
import { withoutSecrets } from './secrets.ts';

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const BYTES = 1000;
const KEY = Buffer.alloc(32, 7);
const KEY_TEXT = KEY.toString('base64url');
const DEPOT = 'https://depot.example';
const READ = `${DEPOT}/-/d/${'i'.repeat(16)}/${'s'.repeat(32)}/encrypted`;
const MANAGE = `${DEPOT}/-/depot/m/${'i'.repeat(16)}/${'m'.repeat(32)}`;
const AROUND = { gid: '0123456789abcdef', dir: '/downloads', categories: [], now: 0 };

const blocks = { algorithm: 'sha256', pieceBytes: 2 ** 20, hexes: ['ab'.repeat(32)] } as const;
const root = rootOf(BYTES, blocks, sha256);
const head = { name: '../a/secret plan.txt', sha256: 'cd'.repeat(32), root };
const exnode = {
  ...{ name: 'encrypted', size: BYTES, blocks, root, key: KEY_TEXT },
  sealed: sealHead(KEY, head).toString('base64'),
  extents: [{ start: 0, end: BYTES, replicas: [{ read: READ, at: 0, manage: MANAGE }] }],
};
const document = Buffer.from(formatExnode(exnode, false));

test('a request keeps an exNode with its key, and without the right to delete what is stored', async () => {
  expect(document.toString()).toContain(MANAGE);
  const { request, name, host } = newRecord(await exnodeDownload(document, {}), AROUND);
  expect([name, host, request.within]).toEqual(['secret plan.txt', 'depot.example', '/downloads']);
  expect(request).toMatchObject({ urls: [`${DEPOT}/`], edges: [], length: BYTES });
  expect(request.exnode).toMatchObject({ root, key: KEY_TEXT });
  expect(request.exnode?.text).not.toContain(KEY_TEXT);
  expect(request.exnode?.text).not.toContain('/-/depot/m/');
  expect(openKept(request.exnode as never)).toMatchObject({ name: head.name, size: BYTES });
});

test('nothing but a list with all secrets has the key', async () => {
  const record = newRecord(await exnodeDownload(document, {}), AROUND);
  expect(JSON.stringify(record)).toContain(KEY_TEXT);
  expect(JSON.stringify(withoutSecrets(record.request))).not.toContain(KEY_TEXT);
  expect(await exportList([record], 'json', false)).not.toContain(KEY_TEXT);
  expect(await exportList([record], 'json', true)).toContain(KEY_TEXT);
  // There is no link to it that lists of links could have.
  expect(await exportList([record], 'urls', true)).toMatch(/^# secret plan\.txt: .*\n$/);
});

test('an exNode takes no other source, and no log-in', async () => {
  for (const more of [
    { headers: { cookie: 'a=b' } },
    { login: { user: 'a', password: 'b' } },
    { direct: false },
  ]) {
    await expect(exnodeDownload(document, more)).rejects.toMatchObject({ code: 'bad-option' });
  }
});

test('a key of another file, or none, is refused before anything is added', async () => {
  const other = { ...exnode, key: Buffer.alloc(32, 8).toString('base64url') };
  for (const wrong of [other, { ...exnode, key: undefined }]) {
    const text = Buffer.from(formatExnode(wrong, false));
    await expect(exnodeDownload(text, {})).rejects.toMatchObject({ code: 'wrong-key' });
    await expect(describeExnode(text)).rejects.toMatchObject({ code: 'wrong-key' });
  }
});

test('downloads that are no links to exNodes stay as they are', async () => {
  const signal = new AbortController().signal;
  for (const asked of [{ urls: ['https://a.example/x#k.1'] }, { urls: [] }, {} as never]) {
    expect(await withExnode(asked, signal)).toBe(asked);
  }
});
