/**
 * Tells the system that a file comes from the network, so that it asks before opening the file: the
 * Mark of the Web on Windows, the quarantine attribute on macOS. Other systems have no such mark.
 * Some programs on Linux write an attribute with the URL, but it protects nobody and tells others
 * what was downloaded.
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
  /** Mark the file as from the network, without naming its source. */
  readonly private?: boolean | undefined;
}

/** Functions of the system that marking needs. */
export interface MarkingSystem {
  readonly platform: NodeJS.Platform;
  writeFile(path: string, text: string): Promise<unknown>;
  run(program: string, args: readonly string[]): Promise<unknown>;
  /** Unix milliseconds. */
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
 * Marks a file that has its final name; its contents stay unchanged. Never rejects.
 *
 * @returns a note for the user if the file could not be marked
 */
export async function markDownloaded(
  path: string,
  from: Provenance,
  system: MarkingSystem = REAL,
): Promise<string | undefined> {
  try {
    if (system.platform === 'win32') {
      // The path must be complete: in "a:Zone.Identifier" the "a" would be a drive.
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

/** Makes the text of the stream Zone.Identifier ([MS-FSCC] 5.6.1); zone 3 is the internet. */
export function zoneIdentifier(from: Provenance): string {
  const lines = ['[ZoneTransfer]', 'ZoneId=3'];
  const referrer = from.private ? undefined : shownUrl(from.referrer);
  if (referrer !== undefined) lines.push(`ReferrerUrl=${referrer}`);
  // Browsers write `about:internet` if they withhold the address.
  const host = from.private ? undefined : shownUrl(from.url);
  lines.push(`HostUrl=${host ?? 'about:internet'}`);
  return `${lines.join('\r\n')}\r\n`;
}

/**
 * Makes the value of com.apple.quarantine: flags (downloaded, not yet opened), Unix seconds in
 * hexadecimal, program, and an id of the event.
 */
export function quarantine(now: Millis, uuid: string): string {
  const seconds = Math.floor(now / 1000)
    .toString(16)
    .padStart(8, '0');
  return `0081;${seconds};Millrace;${uuid.toUpperCase()}`;
}

/**
 * Returns a URL without log-in, query and fragment, because a signed link is as good as a password.
 */
function shownUrl(text: string | undefined): string | undefined {
  try {
    const { protocol, origin, pathname } = new URL(text ?? '');
    if (protocol === 'http:' || protocol === 'https:') return origin + pathname;
  } catch {
    // The text is not a URL, so there is nothing to show.
  }
  return undefined;
}
