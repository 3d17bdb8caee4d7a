/**
 * Decides whether a link that somebody adds continues an earlier download, whose own link has
 * expired or that was paused, instead of becoming a second one. Length and name only find the
 * earlier download. Where it holds bytes, equal bytes show that the link leads to the same file.
 */

import { type ByteRange, RangeSet, rangeBytes } from '../../base/byte-range.ts';
import type { Random } from '../../base/clock.ts';
import type { Digest } from '../../base/digest.ts';
import { nameFromUrl } from '../request/file-name.ts';
import { looksSigned } from '../request/signed-url.ts';
import { SAMPLE_BYTES, samplesWithin } from '../transfer/same-file.ts';

/** Known facts of an earlier download. */
export interface EarlierDownload {
  /** State of its record; only failed and paused ones are continued. */
  readonly state: string;
  /** Name or path of its file. */
  readonly name: string;
  /** URL that names the download. */
  readonly url: string;
  /** Bytes of the file, where they are known. */
  readonly length?: number | undefined;
  /** Bytes of the file that are stored. */
  readonly storedBytes: number;
  /** Digests that the whole file must have. */
  readonly digests?: readonly Digest[] | undefined;
}

/** A link that is to be added. */
export interface NewLink {
  readonly url: string;
  /** Name that somebody gave the file; undefined: the URL names it. */
  readonly name?: string | undefined;
  /** Bytes of its file; undefined: nobody has asked the server yet. */
  readonly length?: number | undefined;
  readonly digests?: readonly Digest[] | undefined;
}

/**
 * Step before a link continues a download. no: it does not; ask: ask the server for the length, then
 * decide again; compare: compare stored bytes; take: nothing more.
 */
export type Renewal = 'no' | 'ask' | 'compare' | 'take';

/** Decides the next step before a link continues a download. */
export function renewalOf(earlier: EarlierDownload, link: NewLink): Renewal {
  const { state, length, storedBytes } = earlier;
  if (state !== 'error' && state !== 'paused') return 'no';
  const alike = likenessOf(earlier, link);
  // Only the server knows the name of such a file; equal bytes show that it is this one.
  const mayBe = alike !== 'none' || (isUnnamed(link) && isSameHost(earlier.url, link.url));
  if (!mayBe) return 'no';
  if (contradict(earlier.digests, link.digests)) return 'no';
  if (length === undefined) {
    // Nothing is known of the file but its link, so only a link to the same place will do.
    return storedBytes === 0 && state === 'error' && isSamePlace(earlier.url, link.url)
      ? 'take'
      : 'no';
  }
  if (link.length === undefined) return 'ask';
  if (link.length !== length) return 'no';
  if (storedBytes > 0) return 'compare';
  // No byte can be wrong, but two files may have one length.
  return alike === 'equal' ? 'take' : 'no';
}

/**
 * Orders the earlier downloads that a link may continue: those of the same place first, then those
 * with more stored bytes.
 */
export function byLikelihood<T extends EarlierDownload>(found: readonly T[], url: string): T[] {
  const isSame = (one: T) => Number(isSamePlace(one.url, url));
  return found.toSorted((a, b) => isSame(b) - isSame(a) || b.storedBytes - a.storedBytes);
}

/** Returns true if the names show by themselves that a link may be meant for an earlier download. */
export function isNamedAlike(earlier: EarlierDownload, link: NewLink): boolean {
  return likenessOf(earlier, link) !== 'none';
}

/**
 * Compares a link's name with those of an earlier download. alike: equal but for the number that this app
 * puts before the extension of a name that is taken, which may also be part of a version.
 */
function likenessOf({ name, url }: EarlierDownload, link: NewLink): 'equal' | 'alike' | 'none' {
  const key = nameKey(link.name ?? nameFromUrl(link.url));
  const keys = [name, nameFromUrl(url)].map(nameKey);
  if (keys.includes(key)) return 'equal';
  return keys.some((one) => unnumbered(one) === unnumbered(key)) ? 'alike' : 'none';
}

/**
 * Returns the last part of a path without letter case, and without the number that browsers add to
 * a name that is taken: `File (1).iso` becomes `file.iso`.
 */
export function nameKey(path: string): string {
  const last = path.slice(1 + Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')));
  return last
    .normalize('NFC')
    .toLowerCase()
    .replace(/ \(\d{1,4}\)(?=(?:\.[^.]*){0,2}$)/, '');
}

function unnumbered(key: string): string {
  return key.replace(/\.\d{1,4}(?=\.[^.]+$)/, '');
}

/**
 * Returns true for a link whose URL does not look like the name of a file, such as `/get/7f3a`: its
 * server may name the file in Content-Disposition.
 */
export function isUnnamed({ name, url }: NewLink): boolean {
  return name === undefined && !/\.[a-z0-9]{1,8}$/i.test(new URL(url).pathname);
}

function isSameHost(before: string, now: string): boolean {
  return new URL(before).hostname === new URL(now).hostname;
}

/** Returns true for a URL of the same place: an equal one, or one with another signature. */
function isSamePlace(before: string, now: string): boolean {
  if (before === now) return true;
  const [a, b] = [new URL(before), new URL(now)];
  return a.origin === b.origin && a.pathname === b.pathname && looksSigned(now);
}

function contradict(some: readonly Digest[] = [], others: readonly Digest[] = []): boolean {
  return some.some(({ algorithm, hex }) =>
    others.some((other) => other.algorithm === algorithm && other.hex !== hex),
  );
}

/** Most stored bytes that are compared as a whole. */
const WHOLE_BYTES = 6 * SAMPLE_BYTES;
/** Most ranges in which stored bytes may lie to be compared as a whole. */
const WHOLE_RANGES = 6;

/**
 * Chooses the stored bytes to compare: all of a few, else samples.
 *
 * @param stored ascending, disjoint
 * @returns disjoint ranges within `stored`, ascending, of 96 KiB together at most
 */
export function renewalSamples(stored: readonly ByteRange[], random: Random): ByteRange[] {
  const bytes = stored.reduce((sum, range) => sum + rangeBytes(range), 0);
  if (bytes <= WHOLE_BYTES && stored.length <= WHOLE_RANGES) return [...stored];
  return [...new RangeSet(samplesWithin(stored, random)).ranges];
}
