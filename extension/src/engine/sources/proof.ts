/**
 * Shows that an offered download can be fetched here, and that it is the same file: by its length,
 * its validators and its first bytes.
 */

import type { Digest } from '@millrace/shared/base/digest';
import { MillraceError } from '@millrace/shared/base/errors';
import { fileDigests } from '@millrace/shared/http/fields/digest-fields';
import { canPin, readValidators, type Validators } from '@millrace/shared/http/fields/validators';
import { type Offer, TakerError, takerError } from '../../contract/taker.ts';
import type { FetchSource, Opened } from './fetch-source.ts';

const PROOF_BYTES = 64 * 1024;

/** The origin's statement about the file. */
export interface Proof {
  /** Validators that pin the version. */
  readonly validators: Validators;
  /** Digests of the whole file; empty if the origin states none. */
  readonly digests: readonly Digest[];
}

/**
 * Requests the first bytes of the browser's file.
 *
 * @throws MillraceError; the signal's reason
 */
export async function prove(
  source: FetchSource,
  offer: Pick<Offer, 'length' | 'etag' | 'lastModified'>,
  signal: AbortSignal,
): Promise<Proof> {
  const { length, etag, lastModified } = offer;
  if (length < 1) throw new MillraceError('range-ignored', 'it is empty');
  const validators = readValidators({ etag, 'last-modified': lastModified });
  if (validators.etag === undefined && validators.lastModified === undefined) {
    throw new MillraceError('version-unproven', 'the browser received neither ETag nor date');
  }
  // The answer is compared with the browser's own answer: another version does not match.
  const opened = await source.open(firstBytes(length), { length, validators }, signal);
  await opened.read(() => {});
  return proofOf(opened);
}

/**
 * Finds out the length and version of the file at a URL.
 *
 * @throws MillraceError; the signal's reason
 */
export async function discover(
  source: FetchSource,
  signal: AbortSignal,
): Promise<Proof & { readonly length: number; readonly opened: Opened }> {
  const opened = await source.open({ start: 0, end: PROOF_BYTES }, undefined, signal);
  await opened.read(() => {});
  return { ...proofOf(opened), length: opened.version.length, opened };
}

const firstBytes = (length: number) => ({ start: 0, end: Math.min(PROOF_BYTES, length) });

function proofOf({ version: { validators }, fields }: Opened): Proof {
  if (canPin(validators)) return { validators, digests: fileDigests(fields, 206) };
  throw new MillraceError(
    'version-unproven',
    'it sends neither a strong ETag nor a date that is old enough',
  );
}

/** Returns an error as a TakerError. */
export function asTakerError(thrown: unknown): TakerError {
  if (thrown instanceof TakerError) return thrown;
  if (!(thrown instanceof MillraceError)) {
    return new TakerError('failed', thrown instanceof Error ? thrown.message : String(thrown));
  }
  return takerError(thrown.code, thrown.message);
}
