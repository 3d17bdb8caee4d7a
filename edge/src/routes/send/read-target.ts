/** Reads and writes the targets of requests for files: prefixed URLs, and signed links. */

import { MillraceError } from '@millrace/shared/base/errors';
import { parsePrefixedTarget } from '@millrace/shared/http/urls/prefixed-url';
import { parseSignedTarget, SIGNED_PATH } from '@millrace/shared/http/urls/signed-link';
import type { OriginPolicy } from '../../policy/policy.ts';
import { imageUrl } from './registry.ts';

export interface FileTarget {
  /** URL of the file at its origin, canonical. */
  readonly url: URL;
  /** Permit of a signed link, which has not been checked. */
  readonly permit?: string;
}

/**
 * Reads a target.
 *
 * @param target the raw request target
 * @throws MillraceError `no-signed-links`, and as `parsePrefixedTarget` and `parseSignedTarget`
 */
export function readTarget(
  target: string,
  how: {
    readonly policy: Pick<OriginPolicy, 'takesLinks'>;
    readonly defaultScheme: 'http' | 'https';
  },
): FileTarget {
  const image = imageUrl(target);
  if (image !== undefined) return { url: parsePrefixedTarget(`/${image}`, how) };
  if (!target.startsWith(SIGNED_PATH)) return { url: parsePrefixedTarget(target, how) };
  // Before the link is read: its form does not matter here.
  if (!how.policy.takesLinks) throw new MillraceError('no-signed-links');
  return parseSignedTarget(target, how);
}

/** Writes the target for a canonical URL. @param permit of a signed link that covers it */
export function writeTarget({ href }: URL, permit: string | undefined): string {
  return permit === undefined ? `/${href}` : `${SIGNED_PATH}${permit}/${href}`;
}
