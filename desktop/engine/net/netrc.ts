/** Reads the netrc file of ftp(1) and curl: log-ins by host. */

import { open } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { MillraceError } from '@millrace/shared/base/errors';
import type { Login } from './credentials.ts';

const MAX_BYTES = 1024 * 1024;
/** Read and write permission bits of other users. */
const OTHERS = 0o066;

/**
 * Finds the log-in for a host: from the first `machine` of that name, otherwise from `default`.
 *
 * @param text quoted tokens have \", \\, \n, \r and \t; `macdef` ends with an empty line
 */
export function findInNetrc(text: string, host: string): Login | undefined {
  const tokens = tokensOf(text);
  const wanted = host.toLowerCase();
  for (let i = 0; i < tokens.length; ) {
    const keyword = tokens[i++];
    if (keyword !== 'machine' && keyword !== 'default') continue;
    const name = keyword === 'machine' ? tokens[i++] : undefined;
    const entry: Record<string, string | undefined> = {};
    for (; i < tokens.length && tokens[i] !== 'machine' && tokens[i] !== 'default'; i += 2) {
      entry[tokens[i] as string] = tokens[i + 1];
    }
    const matches = keyword === 'default' || name?.toLowerCase() === wanted;
    const { login, password = '' } = entry;
    if (matches && login !== undefined) return { user: login, password };
  }
  return undefined;
}

/**
 * Finds the log-in for a host in a file.
 *
 * @param path undefined: `NETRC`, otherwise `.netrc` (`_netrc` on Windows) in the home folder
 * @returns undefined if there is no log-in, or if no file was named and there is none
 * @throws MillraceError `bad-option` if the file cannot be read, is too large, or can be read or
 *   written by other users
 */
export async function readNetrc(
  host: string,
  path?: string,
  env: NodeJS.ProcessEnv = process.env,
): Promise<Login | undefined> {
  const own = join(homedir(), process.platform === 'win32' ? '_netrc' : '.netrc');
  const file = path ?? env.NETRC ?? own;
  const fail = (why: string) => new MillraceError('bad-option', `${file} ${why}`);
  try {
    const handle = await open(file);
    try {
      const { size, mode } = await handle.stat();
      if (size > MAX_BYTES) throw fail('is too large for a netrc file');
      if (process.platform !== 'win32' && (mode & OTHERS) !== 0) {
        throw fail('is open to others: "chmod 600" keeps the passwords to yourself');
      }
      return findInNetrc(await handle.readFile('utf8'), host);
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (error instanceof MillraceError) throw error;
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' && path === undefined) return undefined;
    throw fail(`cannot be read (${code})`);
  }
}

/** Splits the text into words and quoted words, without comments and macros. */
function tokensOf(text: string): string[] {
  const plain = text.replace(/^[ \t]*macdef\b[^\n]*\n(?:[^\n]*\S[^\n]*(?:\n|$))*/gm, '');
  const tokens: string[] = [];
  for (const line of plain.split(/\r?\n/)) {
    if (/^\s*#/.test(line)) continue;
    for (const [word, quoted] of line.matchAll(/"((?:[^"\\]|\\.)*)"?|\S+/g)) {
      tokens.push(
        quoted === undefined ? word : quoted.replace(/\\(.)/g, (_, char) => escaped(char)),
      );
    }
  }
  return tokens;
}

function escaped(char: string): string {
  return { n: '\n', r: '\r', t: '\t' }[char] ?? char;
}
