/**
 * Checks that a server sends us the file that a browser is downloading from it. Only then may the
 * browser's download be cancelled.
 */

import { MillraceError } from '../../base/errors.ts';
import { matchVersion, readValidators, type Validators } from '../../http/fields/validators.ts';

/** The file, as the answer to the browser describes it. */
export interface OfferedFile {
  /** Bytes. */
  readonly length: number;
  readonly etag?: string | undefined;
  readonly lastModified?: string | undefined;
}

/**
 * Compares length and validator: entity tags strongly (RFC 9110 8.8.3.2), Last-Modified if there is
 * no tag.
 *
 * @param got the file, as the answer to a request of our own describes it
 * @throws MillraceError `different-file`, `version-unproven`
 */
export function checkOffered(
  offered: OfferedFile,
  got: { readonly length: number | undefined; readonly validators: Validators },
): void {
  const { length, etag, lastModified } = offered;
  if (got.length === undefined) throw new MillraceError('version-unproven', { code: 'its-length' });
  if (got.length !== length) {
    throw new MillraceError('different-file', {
      code: 'other-length',
      values: { hasBytes: got.length, wantedBytes: length },
    });
  }
  const match = matchVersion(
    readValidators({ etag, 'last-modified': lastModified }),
    got.validators,
  );
  if (match === 'different')
    throw new MillraceError('different-file', { code: 'other-validators' });
  if (match === 'unproven')
    throw new MillraceError('version-unproven', { code: 'no-common-validators' });
}
