/**
 * Reads torrents (BEP 3, 52 and 47) as descriptions of files: their digests of pieces, and the web
 * servers that have them (BEP 19). No other client of BitTorrent is asked for anything.
 */

import { type Digest, type DigestAlgorithm, digestFromHex, toHex } from '../../base/digest.ts';
import { MillraceError } from '../../base/errors.ts';
import { MAX_URL_CHARS } from '../../base/limits.ts';
import {
  emptyFile,
  type FileDescription,
  LAST_PRIORITY,
  type SharedPiece,
} from '../metalink/description.ts';
import { faultOfFileName, safePath } from '../request/file-path.ts';
import { isFetchable } from '../request/source-kinds.ts';
import { type Bencoded, type Dictionary, isDictionary, parseBencode } from './bencode.ts';
import { type HashOf, LEAF_BYTES, MerkleTree, powerOfTwo } from './merkle.ts';
import { sharedPieces } from './shared-pieces.ts';
import { type Entry, haveSameFiles, type Pieced } from './torrent-files.ts';

export interface Torrent {
  readonly files: readonly FileDescription[];
  /** Digests of its `info` entry, by which the world knows it, lower-case hexadecimal. */
  readonly infoHashes: { readonly v1?: string; readonly v2?: string };
  /** URLs of its files at the mirrors that were given with it. */
  readonly named: ReadonlySet<string>;
}

/** Web servers that have the files (BEP 19), besides those that the torrent names. */
export interface FurtherSeeds {
  /** Web servers that the user has named, which come first. */
  readonly mirrors?: readonly string[];
  /** Web servers that a magnet link has named. */
  readonly seeds?: readonly string[];
}

/** Most files of a torrent. */
const MAX_FILES = 20_000;
/** Most web seeds. */
const MAX_SEEDS = 32;
/** Most characters of the URLs of all files: each web seed has one for each file. */
const MAX_ALL_CHARS = 16 * 1024 * 1024;
const MIN_PIECE_BYTES = 1024;
const MAX_PIECE_BYTES = 1024 * 1024 * 1024;
const SHA1_BYTES = 20;
const SHA256_BYTES = 32;
/** Names that an old program gives to files of zeros between the others. */
const OLD_PADDING = /^_____padding_file_\d/;

/**
 * Reads a torrent.
 *
 * @param document at most 16 MiB
 * @throws MillraceError `bad-metalink`
 */
export function parseTorrent(
  document: Uint8Array,
  hashOf: HashOf,
  { mirrors = [], seeds: further = [] }: FurtherSeeds = {},
): Torrent {
  const top = dictionary(parseBencode(document), 'the torrent');
  const info = dictionary(top.entries.get('info'), 'its info');
  const name = text(info, 'name');
  const isV2 = info.entries.get('meta version') === 2;
  const isV1 = info.entries.has('pieces');
  if (info.entries.has('meta version') && !isV2) fail('its version is unknown');
  if (!isV1 && !isV2) fail('it has no digests of pieces');
  const pieceBytes = whole(info.entries.get('piece length'), 'the length of its pieces');
  if (pieceBytes < MIN_PIECE_BYTES || pieceBytes > MAX_PIECE_BYTES) {
    fail('the length of its pieces is out of bounds');
  }
  const infoHash = (algorithm: 'sha1' | 'sha256') => toHex(hashOf(algorithm, info.bytes));
  const first = isV1 ? filesV1(info, pieceBytes, infoHash('sha1')) : undefined;
  const second = isV2 ? filesV2(top, info, pieceBytes, hashOf) : undefined;
  if (first !== undefined && second !== undefined && !haveSameFiles(first, second)) {
    fail('its two lists of files differ');
  }
  const pieced = (second ?? first ?? []).filter(({ entry }) => entry.isFile);
  if (pieced.length === 0) fail('it has no files');
  const [only] = pieced;
  const isSingle =
    first === undefined
      ? pieced.length === 1 && only?.entry.path.length === 1 && only.entry.path[0] === name
      : info.entries.has('length');
  const paths = pieced.map(({ entry }) => (isSingle ? [name] : [name, ...entry.path]));
  const own = mirrors.filter((url) => isFetchable(url) && URL.canParse(url));
  const listed = [...seedsOf(top), ...further].filter(isSeed).slice(0, MAX_SEEDS);
  const seeds = urlsAt([...own, ...listed], paths, isSingle);
  const files = pieced.map(({ entry, pieces, shared = [] }, index): FileDescription => {
    const path = paths[index] as string[];
    return {
      ...emptyFile(nameOf(path)),
      size: entry.length,
      digests: entry.digests,
      pieces: pieces === undefined ? [] : [pieces],
      ...(shared.length === 0 ? {} : { shared }),
      replicas: seeds.map((urls) => ({ url: urls[index] as string, priority: LAST_PRIORITY })),
    };
  });
  const saved = new Set(files.map((file) => safePath(file.name)));
  if (saved.size < files.length) fail('two files have the same name');
  const infoHashes = {
    ...(isV1 ? { v1: infoHash('sha1') } : {}),
    ...(isV2 ? { v2: infoHash('sha256') } : {}),
  };
  return { files, infoHashes, named: new Set(seeds.slice(0, own.length).flat()) };
}

function filesV1(info: Dictionary, pieceBytes: number, infoHash: string): Pieced[] {
  const pieces = bytes(info.entries.get('pieces'), 'its digests');
  const entries = entriesV1(info);
  const total = entries.reduce((sum, { length }) => sum + length, 0);
  if (!Number.isSafeInteger(total)) fail('its files are too long');
  const count = Math.ceil(total / pieceBytes);
  if (pieces.length !== count * SHA1_BYTES) fail('its number of pieces does not fit its length');
  const hexes = hexesOf(pieces, SHA1_BYTES);
  const lying = entries.map(({ length, isZeros = false }) => ({ length, isZeros }));
  const shared = sharedPieces(lying, pieceBytes, hexes, infoHash);
  let start = 0;
  return entries.map((entry, index): Pieced => {
    const end = start + entry.length;
    const from = Math.ceil(start / pieceBytes);
    // The last piece of the torrent is shorter than the others, and ends with the last file.
    const to = end === total ? count : Math.floor(end / pieceBytes);
    const covers = start === from * pieceBytes && (end === total || end === to * pieceBytes);
    const own = { algorithm: 'sha1', pieceBytes, hexes: hexes.slice(from, to) } as const;
    const position = from * pieceBytes - start;
    start = end;
    if (entry.length === 0) return { entry, pieces: undefined };
    // Pieces of a small file may all have bytes of other files too: then none is left to check it by.
    const pieces = covers ? own : { ...own, from: Math.min(position, entry.length) };
    return { entry, pieces, shared: shared[index] as readonly SharedPiece[] };
  });
}

function entriesV1(info: Dictionary): Entry[] {
  const files = info.entries.get('files');
  if (files === undefined) {
    const length = whole(info.entries.get('length'), 'its length');
    return [{ path: [], length, isFile: true, digests: digestsOf(info) }];
  }
  if (info.entries.has('length')) fail('it is of one file, and of several');
  if (!Array.isArray(files)) fail('its list of files is wrong');
  if (files.length > MAX_FILES) fail(`it has more than ${MAX_FILES} files`);
  return files.map((given: Bencoded) => {
    const file = dictionary(given, 'a file');
    const parts = file.entries.get('path.utf-8') ?? file.entries.get('path');
    if (!Array.isArray(parts)) return fail('a file has no path');
    const path = parts.map((part: Bencoded) => decoded(bytes(part, 'a path')));
    const isOld = OLD_PADDING.test(path.at(-1) ?? '');
    const attributes = attributesOf(file);
    const length = whole(file.entries.get('length'), 'the length of a file');
    const isZeros = isOld || attributes.includes('p');
    return { path, length, isFile: isPlain(file) && !isOld, isZeros, digests: digestsOf(file) };
  });
}

/** Returns false for padding, and for links to other files (BEP 47). */
function isPlain(file: Dictionary): boolean {
  return !/[lp]/.test(attributesOf(file));
}

function attributesOf(file: Dictionary): string {
  const attributes = file.entries.get('attr');
  return attributes === undefined ? '' : decoded(bytes(attributes, 'an attribute'));
}

function filesV2(top: Dictionary, info: Dictionary, pieceBytes: number, hashOf: HashOf): Pieced[] {
  if (pieceBytes < LEAF_BYTES || powerOfTwo(pieceBytes) !== pieceBytes) {
    fail('the length of its pieces is not a power of two from 16 KiB');
  }
  const layers = top.entries.get('piece layers');
  const entries: Entry[] = [];
  walk(dictionary(info.entries.get('file tree'), 'its list of files'), [], entries);
  return entries.map((entry) => {
    const { root, length } = entry;
    if (root === undefined) return { entry, pieces: undefined };
    if (length <= pieceBytes) {
      const own = LEAF_BYTES * powerOfTwo(Math.ceil(length / LEAF_BYTES));
      const pieces = { algorithm: 'sha256', pieceBytes: own, hexes: [toHex(root)] } as const;
      return { entry, pieces: { ...pieces, tree: true } };
    }
    const given = dictionary(layers, 'its digests of pieces').entries.get(binary(root));
    const layer = bytes(given, 'the digests of a file');
    if (layer.length !== Math.ceil(length / pieceBytes) * SHA256_BYTES) {
      fail('its number of pieces does not fit the length of a file');
    }
    if (rootOf(layer, pieceBytes, hashOf) !== toHex(root)) {
      fail('the digests of pieces are not those of the file');
    }
    const hexes = hexesOf(layer, SHA256_BYTES);
    return { entry, pieces: { algorithm: 'sha256', pieceBytes, hexes, tree: true } };
  });
}

/** Lists the files of a tree of folders. */
function walk(folder: Dictionary, path: readonly string[], entries: Entry[]): void {
  for (const [name, value] of folder.entries) {
    const inside = dictionary(value, 'a file');
    if (name !== '') {
      walk(
        inside,
        [...path, decoded(Uint8Array.from(name, (char) => char.charCodeAt(0)))],
        entries,
      );
      continue;
    }
    if (entries.length === MAX_FILES) fail(`it has more than ${MAX_FILES} files`);
    if (folder.entries.size > 1) fail('a file is a folder as well');
    const length = whole(inside.entries.get('length'), 'the length of a file');
    const isFile = isPlain(inside);
    const root = length === 0 ? undefined : bytes(inside.entries.get('pieces root'), 'a root');
    if (root !== undefined && root.length !== SHA256_BYTES) fail('the root of a file is wrong');
    entries.push({ path, length, isFile, digests: [], root });
  }
}

/** Returns the root of the tree over the digests of a file's pieces. */
function rootOf(layer: Uint8Array, pieceBytes: number, hashOf: HashOf): string {
  const tree = new MerkleTree(hashOf);
  for (let at = 0; at < layer.length; at += SHA256_BYTES) {
    tree.add(layer.subarray(at, at + SHA256_BYTES));
  }
  const absent = new MerkleTree(hashOf).root(pieceBytes / LEAF_BYTES);
  return toHex(tree.root(powerOfTwo(layer.length / SHA256_BYTES), absent));
}

function digestsOf({ entries }: Dictionary): Digest[] {
  const named: readonly (readonly [string, DigestAlgorithm])[] = [
    ['md5sum', 'md5'],
    ['md5', 'md5'],
    ['sha1', 'sha1'],
    ['sha256', 'sha256'],
  ];
  const found = new Map<DigestAlgorithm, Digest>();
  for (const [key, algorithm] of named) {
    const value = entries.get(key);
    if (!(value instanceof Uint8Array) || value.length > 2 * SHA256_BYTES) continue;
    const digest =
      digestFromHex(algorithm, binary(value)) ?? digestFromHex(algorithm, toHex(value));
    if (digest !== undefined) found.set(algorithm, digest);
  }
  return [...found.values()];
}

/** Returns the web servers that have the files. Those of BEP 17 are programs, and are left out. */
function seedsOf(top: Dictionary): string[] {
  const given = top.entries.get('url-list');
  const list = Array.isArray(given) ? given : [given];
  const seeds = list.flatMap((one: Bencoded | undefined) =>
    one instanceof Uint8Array ? decoded(one).trim() : [],
  );
  return [...new Set(seeds)];
}

/** Returns true for a URL that can be asked: a stranger's user name and password are not sent. */
export function isSeed(url: string): boolean {
  if (!isFetchable(url) || url.length > MAX_URL_CHARS || !URL.canParse(url)) return false;
  const { username, password } = new URL(url);
  return username === '' && password === '';
}

/**
 * Returns the URLs of all files at each of the web seeds, as many of these as there is room for.
 *
 * @param paths of the files, which begin with the torrent's name
 * @throws MillraceError `bad-metalink` if there is no room for the first one
 */
function urlsAt(
  seeds: readonly string[],
  paths: readonly (readonly string[])[],
  isSingle: boolean,
): string[][] {
  const places = paths.map((path) => path.map(encodeURIComponent).join('/'));
  const placeChars = places.reduce((sum, place) => sum + place.length, 0);
  const all: string[][] = [];
  let chars = 0;
  for (const seed of seeds) {
    chars += placeChars + places.length * seed.length;
    if (chars > MAX_ALL_CHARS && all.length > 0) break;
    if (chars > MAX_ALL_CHARS) fail('the addresses of its files are too long');
    const isFolder = seed.endsWith('/');
    const isFile = isSingle && !isFolder;
    const folder = isFolder ? seed : `${seed}/`;
    all.push(places.map((place) => new URL(isFile ? seed : `${folder}${place}`).href));
  }
  return all;
}

/** Returns a path as one text. @throws MillraceError `bad-metalink` if it leads elsewhere */
function nameOf(path: readonly string[]): string {
  if (path.some((part) => part.includes('/'))) fail('a name has a slash');
  const name = path.join('/');
  const fault = faultOfFileName(name);
  return fault === undefined ? name : fail(fault);
}

function text(from: Dictionary, key: string): string {
  return decoded(bytes(from.entries.get(`${key}.utf-8`) ?? from.entries.get(key), `its ${key}`));
}

function dictionary(value: Bencoded | undefined, what: string): Dictionary {
  return isDictionary(value) ? value : fail(`${what} is missing or wrong`);
}

function bytes(value: Bencoded | undefined, what: string): Uint8Array {
  return value instanceof Uint8Array ? value : fail(`${what} is missing or wrong`);
}

function whole(value: Bencoded | undefined, what: string): number {
  return typeof value === 'number' && value >= 0 ? value : fail(`${what} is missing or wrong`);
}

const UTF_8 = new TextDecoder();

/** Old torrents have names in other encodings than UTF-8: these characters are replaced. */
function decoded(value: Uint8Array): string {
  return UTF_8.decode(value);
}

function binary(value: Uint8Array): string {
  return String.fromCharCode(...value);
}

function hexesOf(digests: Uint8Array, each: number): string[] {
  return Array.from({ length: digests.length / each }, (_, i) =>
    toHex(digests.subarray(i * each, (i + 1) * each)),
  );
}

function fail(why: string): never {
  throw new MillraceError('bad-metalink', `the torrent cannot be used: ${why}`);
}
