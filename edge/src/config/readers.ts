/** Readers of the values of options: each says in plain words what is wrong with a value. */

import { readFileSync } from 'node:fs';
import { MillraceError } from '@millrace/shared/base/errors';
import { fileWords } from '@millrace/shared/node/files/file-words';
import * as z from 'zod';

/** Makes a text option that one of the units' readers reads; the reader's message is kept. */
export function text<T>(read: (value: string) => T) {
  return z.coerce.string().transform((value, context) => {
    try {
      return read(value);
    } catch (error) {
      const message = error instanceof MillraceError ? error.detail : String(error);
      context.addIssue({ code: 'custom', message });
      return z.NEVER;
    }
  });
}

/** Makes an option for the path of a file, which must be readable now and is read again later. */
export function usable(read: (path: string) => unknown) {
  return text((path) => {
    read(path);
    return path;
  });
}

export const count = z.coerce.number().int('must be a whole number').min(0, 'must not be negative');

/** Reads the address of a server, without a path. */
export function parseBaseUrl(value: string): string {
  if (URL.canParse(value)) {
    const { protocol, pathname, search, origin } = new URL(value);
    if (/^https?:$/.test(protocol) && pathname === '/' && search === '') return origin;
  }
  throw new MillraceError('bad-option', 'must be like https://edge.example.org');
}

/** Reads a secret from its own file: in arguments and environment others could see it. */
export function readSecret(path: string, minChars: number): Buffer {
  let secret: string;
  try {
    secret = readFileSync(path, 'utf8').trim();
  } catch (error) {
    throw new MillraceError('bad-option', `cannot be read: ${fileWords(error)}`);
  }
  if (secret.length >= minChars) return Buffer.from(secret);
  throw new MillraceError('bad-option', `must hold at least ${minChars} characters`);
}

/** One row of the table. */
export interface Setting {
  readonly argument: string;
  readonly help: string;
  readonly schema: z.ZodType;
  /** In the form of the option's value; undefined: no default. */
  readonly default: string | undefined;
  readonly repeatable?: boolean;
}
