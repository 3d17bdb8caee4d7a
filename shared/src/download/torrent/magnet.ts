/**
 * Reads magnet links: which torrent or file they name, and where web servers have it. What they say to
 * clients of BitTorrent, such as trackers and peers, is left out.
 */

import { type Digest, digestFromHex, type PieceDigests } from '../../base/digest.ts';
import { MillraceError } from '../../base/errors.ts';
import { MAX_URL_CHARS } from '../../base/limits.ts';
import { emptyFile, type FileDescription, LAST_PRIORITY } from '../metalink/description.ts';
import { isMagnetLink, isTorrentName } from '../request/document-name.ts';
import { nameFromUrl, safeFileName } from '../request/file-name.ts';
import { isSeed, type Torrent } from './torrent.ts';

export interface Magnet {
  /** Infohashes that the torrent must have, lower-case hexadecimal; none: any torrent will do. */
  readonly infoHashes: { readonly v1?: string; readonly v2?: string };
  /** URLs of the torrent (`xs`, `as`). */
  readonly torrents: readonly string[];
  /** Web servers that have the files of the torrent (`ws`). */
  readonly seeds: readonly string[];
  /** The one file, as far as the link itself describes it. */
  readonly file: FileDescription;
}

/** Longest link, characters: it may name many trackers. */
const MAX_MAGNET_CHARS = 4 * MAX_URL_CHARS;
/** Says of a file that none of its bytes can be checked: without its torrent, an infohash proves nothing. */
const NOTHING: PieceDigests = { algorithm: 'sha1', pieceBytes: 1, hexes: [], from: 0 };
/** Most sources of each kind. */
const MAX_SOURCES = 32;
const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';

/**
 * Reads a magnet link.
 *
 * @throws MillraceError `bad-metalink`
 */
export function parseMagnet(link: string): Magnet {
  const given = link.trim();
  if (!isMagnetLink(given)) fail('it does not begin with magnet:?');
  if (given.length > MAX_MAGNET_CHARS) fail(`it has more than ${MAX_MAGNET_CHARS} characters`);
  const params = new URLSearchParams(given.slice(given.indexOf('?') + 1));
  const infoHashes: { v1?: string; v2?: string } = {};
  const digests: Digest[] = [];
  for (const topic of all(params, 'xt')) readTopic(topic, infoHashes, digests);
  const sources = [...all(params, 'xs'), ...all(params, 'as')].filter(isSeed);
  const torrents = unique(sources.filter(isTorrentName));
  const seeds = unique(all(params, 'ws').filter(isSeed));
  const files = unique([...seeds, ...sources.filter((url) => !isTorrentName(url))]);
  const size = all(params, 'xl')[0];
  const source = files[0] ?? torrents[0];
  const name = all(params, 'dn')[0] ?? (source === undefined ? '' : nameFromUrl(source));
  const file: FileDescription = {
    ...emptyFile(safeFileName(name)),
    digests,
    pieces: Object.keys(infoHashes).length > 0 && digests.length === 0 ? [NOTHING] : [],
    ...(size !== undefined && /^\d{1,15}$/.test(size) ? { size: Number(size) } : {}),
    replicas: files
      // The address of a folder leads to a page.
      .filter((url) => !new URL(url).pathname.endsWith('/'))
      .map((url) => ({ url, priority: LAST_PRIORITY })),
  };
  return { infoHashes, torrents, seeds, file };
}

/**
 * Checks that a torrent is the one that a link names.
 *
 * @throws MillraceError `checksum-mismatch`
 */
export function checkInfoHash({ infoHashes }: Magnet, torrent: Torrent): void {
  for (const version of ['v1', 'v2'] as const) {
    const wanted = infoHashes[version];
    const found = torrent.infoHashes[version];
    if (wanted === undefined || wanted === found) continue;
    const has = found === undefined ? 'has none' : `has ${found}`;
    const detail = `the magnet link names the torrent ${wanted}, and this one ${has}`;
    throw new MillraceError('checksum-mismatch', detail);
  }
}

/** Reads what a link names. Topics of other networks are left out. */
function readTopic(topic: string, infoHashes: { v1?: string; v2?: string }, into: Digest[]): void {
  const [, kind = '', value = ''] = /^urn:([a-z0-9-]+):(.*)$/i.exec(topic) ?? [];
  switch (kind.toLowerCase()) {
    case 'btih': {
      const hex = sha1Of(value) ?? fail('its infohash is wrong');
      if ((infoHashes.v1 ?? hex) !== hex) fail('it names two torrents');
      infoHashes.v1 = hex;
      return;
    }
    case 'btmh': {
      // A multihash: 12 says SHA-256, 20 its length.
      const hex = /^1220([0-9a-f]{64})$/i.exec(value)?.[1]?.toLowerCase();
      if (hex === undefined) return fail('its infohash is wrong');
      if ((infoHashes.v2 ?? hex) !== hex) fail('it names two torrents');
      infoHashes.v2 = hex;
      return;
    }
    case 'sha1': {
      const hex = sha1Of(value) ?? fail('its digest is wrong');
      add(into, { algorithm: 'sha1', hex });
      return;
    }
    case 'md5':
    case 'sha256': {
      const digest = digestFromHex(kind.toLowerCase() as 'md5' | 'sha256', value);
      add(into, digest ?? fail('its digest is wrong'));
      return;
    }
  }
}

function add(digests: Digest[], digest: Digest): void {
  const before = digests.find(({ algorithm }) => algorithm === digest.algorithm);
  if (before === undefined) digests.push(digest);
  else if (before.hex !== digest.hex) fail('it names two files');
}

/** Reads a SHA-1 of 40 hexadecimal digits, or of 32 characters of base32. */
function sha1Of(text: string): string | undefined {
  if (/^[a-z2-7]{32}$/i.test(text)) {
    const bits = [...text.toLowerCase()]
      .map((char) => BASE32.indexOf(char).toString(2).padStart(5, '0'))
      .join('');
    return (bits.match(/.{4}/g) ?? [])
      .map((four) => Number.parseInt(four, 2).toString(16))
      .join('');
  }
  return digestFromHex('sha1', text)?.hex;
}

/** Returns the values of a key; several are also numbered: `xt.1`, `xt.2`. */
function all(params: URLSearchParams, key: string): string[] {
  const numbered = Array.from({ length: MAX_SOURCES }, (_, i) => `${key}.${i}`);
  return [key, ...numbered].flatMap((name) => params.getAll(name));
}

function unique(urls: readonly string[]): string[] {
  return [...new Set(urls)].slice(0, MAX_SOURCES);
}

function fail(why: string): never {
  throw new MillraceError('bad-metalink', `the magnet link cannot be used: ${why}`);
}
