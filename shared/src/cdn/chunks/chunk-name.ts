/**
 * Chunk names (NSDI 3.2, figure 2): a chunk is an object with a name of its own, made of the
 * file's URL and the chunk's position. Routing, caching and single flight see nothing else.
 *
 *     <origin URL>,start=<first byte>[letters],end=<last byte>[,v=<version tag>]
 *
 * The letters are the agent's retry salt (NSDI 3.3, WORLDS 3): not part of the number, but part of
 * the hashed text, so that another node serves the retry.
 */

import type { ByteRange } from '../../base/byte-range.ts';
import { MAX_CHUNK_NAME_CHARS } from '../../base/limits.ts';
import { isVersionTag } from './version-tag.ts';

export interface ChunkName {
  /** Canonical origin URL of the file. */
  readonly url: string;
  readonly range: ByteRange;
  /** Retry salt, [a-z]*, usually empty. */
  readonly salt: string;
  /** Version tag; undefined for a pointer to the current version. */
  readonly tag: string | undefined;
}

/** Most letters of salt that any version of an edge reads. */
const MAX_SALT_CHARS = 10;
const SUFFIX = /^(.+),start=(\d{1,16})([a-z]{0,10}),end=(\d{1,16})(?:,v=([^,]*))?$/s;

/** Writes a chunk's name. */
export function formatChunkName(name: ChunkName): string {
  const { url, range, salt, tag } = name;
  const version = tag === undefined ? '' : `,v=${tag}`;
  return `${url},start=${range.start}${salt},end=${range.end - 1}${version}`;
}

/**
 * Reads a chunk's name, from the right: the URL itself may contain commas and even `,start=`.
 * `isLegalChunk` tells whether a file may be cut into such a range.
 *
 * @returns undefined if the text is not a chunk name
 */
export function parseChunkName(text: string): ChunkName | undefined {
  if (text.length > MAX_CHUNK_NAME_CHARS) return undefined;
  const match = SUFFIX.exec(text);
  if (!match) return undefined;
  const [, url, first, salt, last, tag] = match;
  const start = Number(first);
  const end = Number(last) + 1;
  if (!Number.isSafeInteger(end) || end <= start) return undefined;
  if (tag !== undefined && !isVersionTag(tag)) return undefined;
  return { url: url as string, range: { start, end }, salt: salt as string, tag };
}

/**
 * Makes the text that routing hashes: URL, position and salt. The version is left out, so that the
 * node that knows the current version also has the first chunk; the end is left out, so that a
 * growing file does not move.
 */
export function routingKey({ url, range, salt }: Omit<ChunkName, 'tag'>): string {
  return `${url},start=${range.start}${salt}`;
}

/**
 * Returns the letters that a retry adds to the chunk's name (NSDI 3.3): none for the first retry,
 * which goes to another replica; then one letter, which gives the chunk to other nodes altogether.
 *
 * @param attempt 0 for a node's first request for the chunk
 */
export function retrySalt(attempt: number): string {
  return attempt < 2 ? '' : String.fromCharCode(0x61 + ((attempt - 2) % 26));
}

/**
 * The salt of a request that a node sends on: all letters that earlier nodes have added, then its
 * own. If it were lost on the way, the next node would send the request to the very node whose
 * lateness caused the retry.
 *
 * @param received salt of the request that this node has received; empty at the first node
 * @param attempt as in `retrySalt`
 */
export function onwardSalt(received: string, attempt: number): string {
  return (received + retrySalt(attempt)).slice(-MAX_SALT_CHARS);
}
