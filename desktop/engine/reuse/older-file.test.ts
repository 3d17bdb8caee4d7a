import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { seededRandom } from '@millrace/shared/base/clock';
import type { PieceDigests } from '@millrace/shared/base/digest';
import {
  type DownloadRequest,
  type OlderFile,
  REQUEST_DEFAULTS,
} from '@millrace/shared/download/request/request';
import type { ReadableExnode } from '@millrace/shared/exnode/exnode';
import { type ListShape, makeZsync as listOf } from '@millrace/shared/reuse/testing/make-zsync';
import { Download } from '../download/download.ts';
import { BodyCipher } from '../seal/body-cipher.ts';

const random = seededRandom(24);
const drawn = (bytes: number) =>
  Buffer.from(Uint8Array.from({ length: bytes }, () => Math.floor(random() * 256)));
/**
 * Bytes of a file of 1 MB that are few: a quarter. The changed parts and the first answer are a tenth, and
 * requests on a busy machine may overlap.
 */
const FEW_BYTES = 250_000;

const makeZsync = (file: Buffer, shape: ListShape = {}): Buffer =>
  Buffer.from(listOf(file, createHash('sha1').update(file).digest('hex'), shape));

const older = drawn(1_000_000);
/** The older file with bytes put in and others changed. */
const wanted = Buffer.concat([
  older.subarray(0, 300_000),
  drawn(5000),
  older.subarray(300_000, 800_000),
  drawn(30_000),
  older.subarray(830_000),
]);

let folder: string;
let server: Server;
let origin: string;
/** Files of the server by path. */
let files: Map<string, Buffer>;
/** Bytes of the file that the server has sent. */
let sent: number;
let notes: string[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-test-'));
  await writeFile(join(folder, 'older.bin'), older);
  [files, sent, notes] = [new Map([['/new.bin', wanted]]), 0, []];
  server = createServer((request, response) => {
    const path = new URL(request.url ?? '', origin).pathname;
    const file = files.get(path);
    if (file === undefined) return response.writeHead(404).end();
    const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? [];
    const [start, end] = [Number(from ?? 0), Math.min(file.length, Number(to || 1e9) + 1)];
    if (path === '/new.bin') sent += end - start;
    response.writeHead(from === undefined ? 200 : 206, {
      etag: '"1"',
      'content-length': end - start,
      ...(from === undefined
        ? {}
        : { 'content-range': `bytes ${start}-${end - 1}/${file.length}` }),
    });
    response.end(file.subarray(start, end));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await rm(folder, { recursive: true, force: true });
});

async function fetched(
  more: Partial<DownloadRequest> = {},
  file: Partial<OlderFile> = {},
  exnode?: ReadableExnode,
): Promise<Buffer> {
  const request: DownloadRequest = {
    ...REQUEST_DEFAULTS,
    urls: [`${origin}/new.bin`],
    dir: folder,
    file: 'new.bin',
    retryForMs: 5000,
    redundantShare: 0,
    older: { path: join(folder, 'older.bin'), beside: true, ...file },
    ...more,
  };
  const download = new Download(
    request,
    {
      signal: new AbortController().signal,
      onEvent: (event) => event.kind === 'note' && notes.push(event.note),
      random,
    },
    exnode,
  );
  return readFile((await download.run()).path);
}

test('takes what an older file has, and fetches the rest', async () => {
  files.set('/new.bin.zsync', makeZsync(wanted));
  expect((await fetched()).equals(wanted)).toBe(true);
  expect(notes).toContain('taken-from-older');
  expect(sent).toBeLessThan(FEW_BYTES);
  expect((await readFile(join(folder, 'older.bin'))).equals(older)).toBe(true);
});

test('takes what an older file has of the pieces of a description', async () => {
  const pieceBytes = 65_536;
  const hexes: string[] = [];
  for (let at = 0; at < older.length; at += pieceBytes) {
    const piece = older.subarray(at, at + pieceBytes);
    hexes.push(createHash('sha256').update(piece).digest('hex'));
  }
  const pieces: PieceDigests = { algorithm: 'sha256', pieceBytes, hexes };
  files.set('/new.bin', older);
  const damaged = Buffer.from(older);
  damaged.fill(0, 500_000, 500_010);
  await writeFile(join(folder, 'older.bin'), damaged);
  expect((await fetched({ pieces })).equals(older)).toBe(true);
  expect(sent).toBeLessThan(FEW_BYTES);
});

test('fetches what it has taken if the whole file does not have its digest', async () => {
  // By this list all of the older file belongs to the wanted one; they have one length.
  const changed = Buffer.from(older);
  changed.fill(7, 400_000, 700_000);
  files.set('/new.bin', changed);
  const sha1 = createHash('sha1').update(changed).digest('hex');
  files.set('/new.bin.zsync', makeZsync(older, { fields: { 'SHA-1': sha1 } }));
  expect((await fetched()).equals(changed)).toBe(true);
  expect(notes).toContain('older-was-wrong');
});

/** The list of another version, of the same length, as publishers forget to renew it. */
const staleList = () => {
  const before = Buffer.from(wanted);
  before.fill(9, 100_000, 200_000);
  return makeZsync(before);
};

test('a stale list beside the file costs its bytes once, and no failure', async () => {
  files.set('/new.bin.zsync', staleList());
  expect((await fetched()).equals(wanted)).toBe(true);
  expect(notes).toEqual(expect.arrayContaining(['older-was-wrong', 'list-was-stale']));
});

test('a stale list beside the file loses against the digest that the user has given', async () => {
  files.set('/new.bin.zsync', staleList());
  const hex = createHash('sha1').update(wanted).digest('hex');
  expect((await fetched({ digests: [{ algorithm: 'sha1', hex }] })).equals(wanted)).toBe(true);
  expect(notes).toContain('list-was-stale');
  const other = [{ algorithm: 'sha1', hex: 'b'.repeat(40) }] as const;
  await expect(fetched({ digests: other, overwrite: true })).rejects.toMatchObject({
    code: 'checksum-mismatch',
  });
});

test.each([
  ['that the user names', { zsync: '/new.bin.zsync' }],
  ['that a repair relies on', { repairs: true }],
])(
  'saves nothing if the file does not have the digest of a list %s',
  async (_, { zsync, ...more }: Partial<OlderFile>) => {
    files.set('/new.bin.zsync', staleList());
    const named = zsync === undefined ? more : { ...more, zsync: origin + zsync };
    await expect(fetched({}, named)).rejects.toMatchObject({ code: 'checksum-mismatch' });
    expect(await readdir(folder)).toEqual(['older.bin']);
  },
);

/** Describes a file of the server by an exNode, encrypted if there is a key. */
function exnodeOf(file: Buffer, bodyKey?: Uint8Array): ReadableExnode {
  const stored = bodyKey === undefined ? file : new BodyCipher(bodyKey).apply(0, file);
  files.set('/new.bin', stored);
  const pieceBytes = 65_536;
  const hexes: string[] = [];
  for (let at = 0; at < file.length; at += pieceBytes) {
    hexes.push(
      createHash('sha256')
        .update(stored.subarray(at, at + pieceBytes))
        .digest('hex'),
    );
  }
  const blocks: PieceDigests = { algorithm: 'sha256', pieceBytes, hexes };
  const [size, root] = [file.length, 'c'.repeat(64)];
  const replicas = [{ read: `${origin}/new.bin`, at: 0 }];
  const extents = [{ start: 0, end: size, replicas }];
  const sealed = bodyKey === undefined ? {} : { sealed: 'AA==', bodyKey };
  return { name: 'new.bin', size, blocks, root, extents, ...sealed };
}

test.each([
  ['an exNode', undefined],
  ['the exNode of an encrypted file', new Uint8Array(32).fill(5)],
])('takes the blocks of %s, and fetches those that are wrong', async (_, key) => {
  const changed = Buffer.from(older);
  changed.fill(7, 400_000, 400_100);
  const exnode = exnodeOf(changed, key);
  expect((await fetched({}, {}, exnode)).equals(changed)).toBe(true);
  expect(notes).toContain('taken-from-older');
  expect(sent).toBeLessThan(FEW_BYTES);
  expect((await readFile(join(folder, 'older.bin'))).equals(older)).toBe(true);
});

test('fetches the whole file where no list is beside it, and says so', async () => {
  expect((await fetched()).equals(wanted)).toBe(true);
  expect(notes).toContain('older-not-used');
});

test('fails without the list that the user names', async () => {
  const named = { zsync: `${origin}/other.zsync` };
  await expect(fetched({}, named)).rejects.toMatchObject({ code: 'origin-not-found' });
});

test('repairs a file by its list of blocks, and refuses without any digest', async () => {
  const damaged = Buffer.from(wanted);
  damaged.fill(1, 600_000, 600_100);
  await writeFile(join(folder, 'new.bin'), damaged);
  const itself = { path: join(folder, 'new.bin'), repairs: true };
  await expect(fetched({ overwrite: true }, itself)).rejects.toMatchObject({ code: 'bad-option' });
  expect((await readFile(itself.path)).equals(damaged)).toBe(true);
  files.set('/new.bin.zsync', makeZsync(wanted));
  sent = 0;
  expect((await fetched({ overwrite: true }, itself)).equals(wanted)).toBe(true);
  expect(sent).toBeLessThan(FEW_BYTES);
  expect(await readdir(folder)).toEqual(['new.bin', 'older.bin']);
});

test('an older file may be the one that is replaced', async () => {
  files.set('/new.bin.zsync', makeZsync(wanted));
  await writeFile(join(folder, 'new.bin'), older);
  const itself = { path: join(folder, 'new.bin') };
  expect((await fetched({ overwrite: true }, itself)).equals(wanted)).toBe(true);
  expect(sent).toBeLessThan(FEW_BYTES);
});
