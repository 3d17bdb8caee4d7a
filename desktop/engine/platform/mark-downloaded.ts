/**
 * Tells the system that a file comes from the network, so that it asks before opening it: the Mark
 * of the Web on Windows, the quarantine attribute on macOS. Other systems have no such mark; the
 * attribute with the URL that some programs write on Linux protects nobody and tells others what
 * was downloaded.
 */

import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import type { Millis } from '@millrace/shared/base/clock';

export interface Provenance {
  readonly url: string;
  readonly referrer?: string | undefined;
  /** Says that the file comes from the network, but not from where. */
  readonly private?: boolean | undefined;
}

/** Parts of the system that marking needs. */
export interface MarkingSystem {
  readonly platform: NodeJS.Platform;
  writeFile(path: string, text: string): Promise<unknown>;
  run(program: string, args: readonly string[]): Promise<unknown>;
  /** Unix time. */
  now(): Millis;
  uuid(): string;
}

const RUN_TIMEOUT_MS = 10_000;
const execute = promisify(execFile);

const REAL: MarkingSystem = {
  platform: process.platform,
  writeFile: (path, text) => writeFile(path, text),
  run: (program, args) => execute(program, args, { timeout: RUN_TIMEOUT_MS }),
  now: Date.now,
  uuid: randomUUID,
};

/**
 * Marks a file, once it has its final name; its other contents stay as they are.
 *
 * @returns a note for the user where that was not possible; it never rejects
 */
export async function markDownloaded(
  path: string,
  from: Provenance,
  system: MarkingSystem = REAL,
): Promise<string | undefined> {
  try {
    if (system.platform === 'win32') {
      // A complete path: in "a:Zone.Identifier" the a would be a drive.
      await system.writeFile(`${resolve(path)}:Zone.Identifier`, zoneIdentifier(from));
    } else if (system.platform === 'darwin') {
      const value = quarantine(system.now(), system.uuid());
      const args = ['-w', 'com.apple.quarantine', value, resolve(path)];
      await system.run('/usr/bin/xattr', args);
    }
    return undefined;
  } catch (error) {
    const { code, message } = Object(error) as { code?: unknown; message?: unknown };
    const why = typeof code === 'string' ? code : String(message ?? error).split('\n')[0];
    return `the file could not be marked as downloaded (${why})`;
  }
}

/**
 * The stream Zone.Identifier ([MS-FSCC] 5.6.1): zone 3 is the internet.
 */
export function zoneIdentifier(from: Provenance): string {
  const lines = ['[ZoneTransfer]', 'ZoneId=3'];
  const referrer = from.private ? undefined : shownUrl(from.referrer);
  if (referrer !== undefined) lines.push(`ReferrerUrl=${referrer}`);
  // Browsers write this where they do not tell.
  const host = from.private ? undefined : shownUrl(from.url);
  lines.push(`HostUrl=${host ?? 'about:internet'}`);
  return `${lines.join('\r\n')}\r\n`;
}

/**
 * The value of com.apple.quarantine: flags (downloaded, not yet opened), Unix seconds in
 * hexadecimal, program, and a name for the event.
 */
export function quarantine(now: Millis, uuid: string): string {
  const seconds = Math.floor(now / 1000)
    .toString(16)
    .padStart(8, '0');
  return `0081;${seconds};Millrace;${uuid.toUpperCase()}`;
}

/** A URL without log-in, query and fragment: signed links are as good as a password. */
function shownUrl(text: string | undefined): string | undefined {
  try {
    const { protocol, origin, pathname } = new URL(text ?? '');
    if (protocol === 'http:' || protocol === 'https:') return origin + pathname;
  } catch {
    // Not a URL: nothing to show.
  }
  return undefined;
}
