/** Daemons of other machines that this user has paired with: their tokens, for the user's eyes only. */

import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MillraceError } from '@millrace/shared/base/errors';

const TOKEN = /^[A-Za-z0-9_-]{43}$/;

const fileOf = (state: string) => join(state, 'remotes.json');

/** Returns the token for a daemon; undefined if there is none. @param origin such as https://nas.example */
export async function remoteToken(state: string, origin: string): Promise<string | undefined> {
  return (await readRemotes(state))[origin];
}

/** Keeps the token for a daemon. @throws MillraceError `state-unusable` */
export async function keepRemote(state: string, origin: string, token: string): Promise<void> {
  const all = { ...(await readRemotes(state)), [origin]: token };
  const path = fileOf(state);
  const temporary = `${path}.${process.pid}.new`;
  try {
    await writeFile(temporary, `${JSON.stringify(all)}\n`, { mode: 0o600 });
    await rename(temporary, path);
  } catch (cause) {
    throw new MillraceError('state-unusable', path, { cause });
  }
}

async function readRemotes(state: string): Promise<Record<string, string>> {
  try {
    const all: unknown = JSON.parse(await readFile(fileOf(state), 'utf8'));
    const entries = Object.entries((all ?? {}) as object);
    return Object.fromEntries(entries.filter(([, token]) => TOKEN.test(String(token))));
  } catch {
    return {};
  }
}
