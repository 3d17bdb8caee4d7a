/** Reads the files of `--key` and `--signature`. */

import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { MAX_KEY_CHARS, MAX_KEYS } from '@millrace/shared/download/request/request';
import { UsageError } from '../text/option-values.ts';

/**
 * Returns the files as texts, binary ones in base64; undefined if none is given.
 *
 * @param from folder that relative paths start from
 * @throws UsageError for a file that cannot be read, or is larger than a key or signature
 */
export function textsOf(
  paths: readonly string[] | undefined,
  from: string,
): readonly string[] | undefined {
  if (paths !== undefined && paths.length > MAX_KEYS) {
    throw new UsageError(`at most ${MAX_KEYS} keys and as many signatures can be given`);
  }
  return paths?.map((path) => textOf(resolve(from, path), path));
}

function textOf(path: string, shown: string): string {
  let bytes: Buffer;
  try {
    const { size } = statSync(path);
    // Base64 needs four characters for three bytes.
    if (size > (MAX_KEY_CHARS / 4) * 3) throw new Error('it is too large');
    bytes = readFileSync(path);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new UsageError(`${shown} cannot be read: ${why}`);
  }
  return bytes.every((byte) => byte < 0x80) ? bytes.toString('latin1') : textOrBase64(bytes);
}

/** Comments of armored texts may have any characters. */
function textOrBase64(bytes: Buffer): string {
  const isText = /^(?:-----BEGIN PGP |untrusted comment:)/.test(bytes.toString('latin1', 0, 32));
  return bytes.toString(isText ? 'utf8' : 'base64');
}
