/** The line of a shell that downloads and decrypts an encrypted file without Millrace. */

import { safeFileName } from '@millrace/shared/download/request/file-name';
import type { Spread } from '../../../engine/upload/spread-upload.ts';

/**
 * Returns the line for a POSIX shell with curl, OpenSSL and sha256sum. Decryption alone does not show
 * whether the bytes are right, so the line ends with a comparison of the digest.
 *
 * @returns undefined if the file is not encrypted, or no edge gives all of it
 */
export function decryptLine({ bodyKey, wholes, files, name, sha256 }: Spread): string | undefined {
  const [link] = [...wholes, ...files];
  if (bodyKey === undefined || link === undefined) return undefined;
  const key = Buffer.from(bodyKey).toString('hex');
  const file = quoted(safeFileName(name));
  return (
    `curl -fsSL ${quoted(link)} | ` +
    `openssl enc -d -aes-256-ctr -K ${key} -iv ${'0'.repeat(32)} -out ${file} && ` +
    `[ "$(sha256sum < ${file} | cut -c 1-64)" = ${sha256} ]`
  );
}

/** Quotes a text for a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
