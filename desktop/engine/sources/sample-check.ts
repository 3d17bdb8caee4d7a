/**
 * Admits a source once it is shown to hold the downloaded file: by its own statements about the
 * file, or else by comparing bytes at random places.
 */

import { type ByteRange, rangeBytes } from '@millrace/shared/base/byte-range';
import type { Millis } from '@millrace/shared/base/clock';
import type { Digest } from '@millrace/shared/base/digest';
import { MillraceError } from '@millrace/shared/base/errors';
import { compareVersions, type SourceVersion } from '@millrace/shared/download/transfer/same-file';
import { fileDigests } from '@millrace/shared/http/fields/digest-fields';
import { canPin } from '@millrace/shared/http/fields/validators';
import { Deadline } from '@millrace/shared/node/deadline';
import type { DownloadSource } from './download-source.ts';
import type { Opened } from './source-answer.ts';

/** Time in which all of a sample should come from a source that is trusted already. */
const SAMPLE_WITHIN_MS = 1000;
/** Longest time for all of a sample from any other source: one that drips never ends by itself. */
const SAMPLE_MOST_MS = 30_000;
/** Fewest bytes of a sample that show something. */
const LEAST_BYTES = 512;

export interface AdmissionOptions {
  /** The file's version, as the first source stated it. */
  readonly reference: SourceVersion;
  /** URL of the source that stated the reference. */
  readonly referenceUrl: string;
  /**
   * Returns known bytes of the file, at least the first ones of a range; undefined if they are
   * neither stored nor available.
   */
  readonly known: (range: ByteRange) => Promise<Buffer | undefined>;
  /** True to compare bytes even if the source's own statements are those of the file. */
  readonly compares?: boolean;
  /** Ranges to compare, at least one; the last one is asked for first. */
  readonly plan: readonly ByteRange[];
}

/**
 * Asks a source for samples and compares them.
 *
 * @returns once the source is admitted, with its `version` set
 * @throws MillraceError `different-file` and the error that keeps the source from answering;
 *   `version-unproven` if the source sends no validator to check later answers by
 */
export async function admit(
  source: DownloadSource,
  options: AdmissionOptions,
  signal: AbortSignal,
): Promise<void> {
  const { reference, referenceUrl, known, plan, compares = false } = options;
  // The end of the file comes first, because it reveals a different length at once.
  const first = plan.at(-1) as ByteRange;
  const opened = await source.openRange(first, undefined, signal);
  const version = versionOf(opened);
  if (version === undefined || !canPin(version.validators)) {
    opened.discard();
    throw new MillraceError('version-unproven', { code: 'no-validators' });
  }
  const same = compareVersions(reference, version, source.url === referenceUrl);
  if (same.kind === 'different') {
    opened.discard();
    throw new MillraceError('different-file', same.why);
  }
  const pinned = { length: version.length, validators: version.validators };
  if (same.kind === 'same' && !compares) {
    opened.discard();
  } else {
    await compare(source, first, await readSample(opened, first), known);
    for (const range of plan.slice(0, -1)) {
      const next = await source.openRange(range, pinned, signal);
      await compare(source, range, await readSample(next, range), known);
    }
  }
  source.version = pinned;
}

/** Reads the version from an answer; undefined if the answer is not a range or states no length. */
export function versionOf(opened: Opened): SourceVersion | undefined {
  if (opened.kind !== 'range') return undefined;
  const digests: readonly Digest[] = fileDigests(opened.headers, 206);
  const { length, validators } = opened.version;
  return { length, validators, digests };
}

/**
 * Reads a small range into memory.
 *
 * @param mostMs longest time for all of it
 * @throws MillraceError, `origin-timeout` if it takes too long
 */
export async function readSample(
  opened: Pick<Opened, 'read' | 'discard'>,
  range: ByteRange,
  mostMs: Millis = SAMPLE_MOST_MS,
): Promise<Buffer> {
  const bytes = Buffer.alloc(rangeBytes(range));
  let isLate = false;
  const deadline = new Deadline(() => {
    isLate = true;
    opened.discard();
  });
  deadline.set(mostMs);
  try {
    await opened.read((position, piece) => {
      bytes.set(piece, position - range.start);
      return undefined;
    });
  } catch (error) {
    if (!isLate) throw error;
    throw new MillraceError('origin-timeout', { code: 'sample-late', values: { ms: mostMs } });
  } finally {
    deadline.clear();
  }
  return bytes;
}

/**
 * Reads the beginning of a small range into memory: all of it, or what has come when the time is
 * over, once that is enough to compare. A source that drips would keep all others out otherwise.
 *
 * @throws MillraceError; the signal's reason
 */
export async function readBeginning(
  source: DownloadSource,
  range: ByteRange,
  signal: AbortSignal,
): Promise<Buffer> {
  const bytes = Buffer.alloc(rangeBytes(range));
  const least = Math.min(LEAST_BYTES, bytes.length);
  const enough = new AbortController();
  let come = 0;
  let isLate = false;
  const look = () => {
    if (isLate && come >= least) enough.abort();
  };
  const timer = setTimeout(() => {
    isLate = true;
    look();
  }, SAMPLE_WITHIN_MS);
  try {
    const both = AbortSignal.any([signal, enough.signal]);
    const opened = await source.openRange(range, source.version, both);
    await opened.read((position, piece) => {
      bytes.set(piece, position - range.start);
      if (position - range.start === come) come += piece.length;
      look();
      return undefined;
    });
  } catch (error) {
    if (!enough.signal.aborted) throw error;
  } finally {
    clearTimeout(timer);
  }
  return enough.signal.aborted ? bytes.subarray(0, come) : bytes;
}

async function compare(
  source: DownloadSource,
  range: ByteRange,
  theirs: Buffer,
  known: AdmissionOptions['known'],
): Promise<void> {
  const ours = await known(range);
  if (ours === undefined)
    throw new MillraceError('origin-unreachable', { code: 'nothing-to-compare' });
  compareSample(source, range, ours, theirs);
}

/**
 * Compares the bytes of a source with those of the file.
 *
 * @param ours as many of the first bytes of the range as are known
 * @throws MillraceError `different-file`
 */
export function compareSample(
  source: DownloadSource,
  range: ByteRange,
  ours: Buffer,
  theirs: Buffer,
): void {
  if (ours.equals(theirs.subarray(0, ours.length))) return;
  const last = range.start + ours.length - 1;
  const values = { source: source.label, first: range.start, last };
  throw new MillraceError('different-file', { code: 'other-bytes', values });
}
