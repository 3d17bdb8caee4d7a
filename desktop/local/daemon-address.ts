/** Keeps the daemon's address and its secret token in files that only the user can read. */

import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MillraceError } from '@millrace/shared/base/errors';
import { processState } from './process-state.ts';

export interface DaemonAddress {
  /** Endpoint for HTTP: http://127.0.0.1:PORT/jsonrpc. */
  readonly url: string;
  /** Endpoint for WebSocket. */
  readonly ws: string;
  readonly pid: number;
  readonly version: string;
}

export type FoundDaemon = DaemonAddress & { readonly token: string };

const TOKEN = /^[A-Za-z0-9_-]{32,}$/;

const addressFile = (state: string) => join(state, 'daemon.json');
const secretFile = (state: string) => join(state, 'daemon-token');

/** Returns the daemon's token; makes one if there is none. */
export async function daemonToken(state: string): Promise<string> {
  const path = secretFile(state);
  const present = (await readFile(path, 'utf8').catch(() => '')).trim();
  if (TOKEN.test(present)) {
    await chmod(path, 0o600);
    return present;
  }
  const token = randomBytes(32).toString('base64url');
  await writeWhole(path, `${token}\n`);
  return token;
}

export async function writeAddress(state: string, address: DaemonAddress): Promise<void> {
  await writeWhole(addressFile(state), `${JSON.stringify(address)}\n`);
}

/** Removes the address if it still belongs to the process. */
export async function removeAddress(state: string, pid: number): Promise<void> {
  if ((await readAddress(state))?.pid === pid) await rm(addressFile(state), { force: true });
}

/** Reads the daemon's address. @returns undefined if there is none, or its process has gone */
export async function readAddress(state: string): Promise<DaemonAddress | undefined> {
  try {
    const value = JSON.parse(await readFile(addressFile(state), 'utf8')) as Partial<DaemonAddress>;
    const { url, ws, pid, version } = value;
    if (typeof url !== 'string' || typeof ws !== 'string' || typeof pid !== 'number') {
      return undefined;
    }
    // `new URL` throws for invalid URLs: the app's window has a Node without URL.canParse.
    new URL(url);
    new URL(ws);
    if (processState(pid) !== 'ours') return undefined;
    return { url, ws, pid, version: String(version) };
  } catch {
    return undefined;
  }
}

/**
 * Finds the daemon that runs for a state folder.
 *
 * @throws MillraceError `daemon-not-running`
 */
export async function findDaemon(state: string): Promise<FoundDaemon> {
  const address = await readAddress(state);
  const token = (await readFile(secretFile(state), 'utf8').catch(() => '')).trim();
  if (address === undefined || token === '') throw new MillraceError('daemon-not-running', state);
  return { ...address, token };
}

/** Finds the daemon that runs for a state folder; returns undefined if none does. */
export async function runningDaemon(state: string): Promise<FoundDaemon | undefined> {
  return findDaemon(state).catch(() => undefined);
}

/** Writes a file that is never half written and never readable by others. */
async function writeWhole(path: string, text: string): Promise<void> {
  const temporary = `${path}.${process.pid}.new`;
  await writeFile(temporary, text, { mode: 0o600 });
  await rename(temporary, path);
}

export async function makeStateFolder(state: string): Promise<void> {
  await mkdir(state, { recursive: true, mode: 0o700 }).catch((cause) => {
    throw new MillraceError('state-unusable', state, { cause });
  });
}
