/**
 * The edge that runs on this machine for this user: its address, and the token that distinguishes
 * our own requests from those of others.
 */

import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** Port of edges, as in the paper (NSDI 2.3). */
export const EDGE_PORT = 3125;

interface Registration {
  readonly url: string;
  readonly pid: number;
}

/** Returns the folder for Millrace's data between runs, by the conventions of the system. */
export function stateFolder(env: NodeJS.ProcessEnv = process.env): string {
  if (env.MILLRACE_STATE !== undefined) return env.MILLRACE_STATE;
  if (process.platform === 'win32') {
    return join(env.LOCALAPPDATA ?? join(homedir(), 'AppData', 'Local'), 'Millrace');
  }
  if (process.platform === 'darwin') {
    return join(homedir(), 'Library', 'Application Support', 'Millrace');
  }
  return join(env.XDG_STATE_HOME ?? join(homedir(), '.local', 'state'), 'millrace');
}

/** Returns the file with the token of this user's edge. */
export function tokenFile(): string {
  return join(stateFolder(), 'edge-token');
}

function registrationFile(): string {
  return join(stateFolder(), 'edge.json');
}

/** Records that this user's edge runs. */
export async function registerLocalEdge(registration: Registration): Promise<void> {
  await mkdir(stateFolder(), { recursive: true, mode: 0o700 });
  await writeFile(registrationFile(), JSON.stringify(registration), { mode: 0o600 });
}

/** Removes the record if it is still about this process. */
export async function unregisterLocalEdge(pid: number): Promise<void> {
  if ((await registration())?.pid === pid) await rm(registrationFile(), { force: true });
}

/** Returns true if an edge answers at the address. */
export async function isEdge(url: string): Promise<boolean> {
  try {
    const response = await fetch(new URL('/-/live', url), { signal: AbortSignal.timeout(2000) });
    const body = (await response.json()) as { server?: unknown };
    return response.ok && body.server === 'millrace-edge';
  } catch {
    return false;
  }
}

/** Returns the address of the edge that this user runs; undefined if none runs. */
export async function localEdge(): Promise<string | undefined> {
  const own = await registration();
  try {
    if (own !== undefined && process.kill(own.pid, 0)) return new URL(own.url).origin;
  } catch {
    // The edge has ended without removing its record.
  }
  return undefined;
}

/**
 * Returns header fields for requests to an edge: the local token if the edge is this user's own,
 * none otherwise. Another program that listens on the port of an ended edge does not get the token.
 */
export async function edgeHeaders(edge: string): Promise<Record<string, string>> {
  const own = await registration();
  if (own === undefined || new URL(own.url).origin !== new URL(edge).origin) return {};
  try {
    process.kill(own.pid, 0);
    return { 'x-millrace-token': (await readFile(tokenFile(), 'utf8')).trim() };
  } catch {
    return {};
  }
}

async function registration(): Promise<Registration | undefined> {
  try {
    const value = JSON.parse(await readFile(registrationFile(), 'utf8')) as Partial<Registration>;
    if (typeof value.url !== 'string' || !URL.canParse(value.url)) return undefined;
    if (!Number.isSafeInteger(value.pid) || (value.pid as number) < 1) return undefined;
    return { url: value.url, pid: value.pid as number };
  } catch {
    return undefined;
  }
}
