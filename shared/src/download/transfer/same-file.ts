/**
 * Decides whether two sources hold the same file. Bytes of two sources are combined only once that
 * is shown by validators, by digests, or by equal sampled bytes. Similar URLs prove nothing.
 */

import type { ByteRange } from '../../base/byte-range.ts';
import type { Random } from '../../base/clock.ts';
import type { Digest } from '../../base/digest.ts';
import type { Validators } from '../../http/fields/validators.ts';

/** A source's statement about its file. */
export interface SourceVersion {
  readonly length: number;
  readonly validators: Validators;
  /** Digests of the whole file, from its header fields. */
  readonly digests: readonly Digest[];
}

export type SameFile =
  | { readonly kind: 'same' }
  | { readonly kind: 'different'; readonly why: string }
  /** The statements decide nothing: bytes must be compared. */
  | { readonly kind: 'unknown' };

/**
 * Compares the versions that two sources state.
 *
 * Digests decide. A strong entity tag that two servers have in common counts as the same file:
 * servers derive it at least from length and date (nginx). Different tags of different servers
 * prove nothing.
 *
 * @param oneServer true if both are answers of one server about one URL, whose validators must
 *   then agree
 */
export function compareVersions(a: SourceVersion, b: SourceVersion, oneServer: boolean): SameFile {
  if (a.length !== b.length) {
    return { kind: 'different', why: `it has ${b.length} bytes instead of ${a.length}` };
  }
  for (const digest of a.digests) {
    const other = b.digests.find(({ algorithm }) => algorithm === digest.algorithm);
    if (other === undefined) continue;
    if (other.hex === digest.hex) return { kind: 'same' };
    return { kind: 'different', why: `its ${digest.algorithm} digest is different` };
  }
  const { etag } = a.validators;
  if (etag !== undefined && b.validators.etag === etag) return { kind: 'same' };
  if (!oneServer) return { kind: 'unknown' };
  return sameServer(a.validators, b.validators);
}

function sameServer(a: Validators, b: Validators): SameFile {
  const tagA = a.etag ?? a.weakEtag;
  const tagB = b.etag ?? b.weakEtag;
  if (tagA !== tagB) return { kind: 'different', why: 'its ETag is different' };
  if (a.lastModified !== b.lastModified) return { kind: 'different', why: 'its date is different' };
  return b.lastModifiedIsStrong === true ? { kind: 'same' } : { kind: 'unknown' };
}

/** Size of one sample, in bytes. */
export const SAMPLE_BYTES = 16 * 1024;
const SAMPLES = 6;

/**
 * Chooses the ranges to compare: the end, where files of one length made by one program differ
 * most often (tables of contents, signatures), and random places in equal parts of the file.
 *
 * @param length of the file, at least 1
 * @returns disjoint ranges, ascending; the whole of a short file
 */
export function samplePlan(length: number, random: Random): ByteRange[] {
  if (length <= SAMPLE_BYTES * SAMPLES) return [{ start: 0, end: length }];
  const end = { start: length - SAMPLE_BYTES, end: length };
  const part = Math.floor(end.start / (SAMPLES - 1));
  const others = Array.from({ length: SAMPLES - 1 }, (_, i) => {
    const start = part * i + Math.floor(random() * (part - SAMPLE_BYTES + 1));
    return { start, end: start + SAMPLE_BYTES };
  });
  return [...others, end];
}

/**
 * Chooses the ranges to compare when only some bytes of the file are stored and no more can come.
 *
 * @param stored ascending, disjoint
 * @returns ranges within `stored`, ascending: the last bytes, and random places
 */
export function samplesWithin(stored: readonly ByteRange[], random: Random): ByteRange[] {
  const last = stored.at(-1);
  if (last === undefined) return [];
  const chosen = new Map<number, ByteRange>();
  const choose = (range: ByteRange, at: number) => {
    const start = Math.max(range.start, Math.min(at, range.end - SAMPLE_BYTES));
    chosen.set(start, { start, end: Math.min(range.end, start + SAMPLE_BYTES) });
  };
  choose(last, last.end);
  const bytes = stored.reduce((sum, range) => sum + range.end - range.start, 0);
  for (let i = 1; i < SAMPLES; i++) {
    let at = Math.floor(random() * bytes);
    const range = stored.find((r) => {
      const length = r.end - r.start;
      if (at < length) return true;
      at -= length;
      return false;
    });
    if (range !== undefined) choose(range, range.start + at);
  }
  return [...chosen.values()].sort((a, b) => a.start - b.start);
}
