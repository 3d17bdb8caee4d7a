/** Reads where `sync push` brings a folder: `HOST:DIR`, as scp and rsync write it. */

import { MillraceError } from '../base/errors.ts';

/** A host and the folder on it. */
export interface PushTarget {
  /** The text as given, for people. */
  readonly name: string;
  /** Destination for ssh: a host, an alias of the user's ssh configuration, or `USER@HOST`. */
  readonly host: string;
  /** Folder on the host; a relative one begins at the user's home. */
  readonly dir: string;
}

/** Longest target, in characters: a host's name and a path. */
const MAX_TARGET_CHARS = 8192;

/**
 * Reads a target. The first colon ends the host; an IPv6 address stands in brackets.
 *
 * @throws MillraceError `bad-option`
 */
export function parsePushTarget(name: string): PushTarget {
  const [, user = '', address, plain, dir = ''] =
    /^([^@:/[\]]+@)?(?:\[([^\]]*)\]|([^:[\]]*)):(.*)$/s.exec(name) ?? [];
  const host = user + (address ?? plain ?? '');
  if (name.length > MAX_TARGET_CHARS) throw bad(name, 'it is too long');
  if (address === undefined && plain === undefined) throw bad(name, 'it is not HOST:DIR');
  if ((address ?? plain) === '') throw bad(name, 'the host is missing');
  // An argument that begins with a dash would be an option of ssh.
  if (/^-|@-/.test(host)) throw bad(name, 'no host begins with a dash');
  if (/[\s\x00-\x1f\x7f]|[/\\]/.test(host)) throw bad(name, 'a host has no such characters');
  if (dir === '') throw bad(name, 'the folder is missing');
  if (dir.includes('\0')) throw bad(name, 'a folder has no such characters');
  return { name, host, dir: fromHome(name, dir) };
}

/**
 * Reads targets.
 *
 * @throws MillraceError `bad-option`, also for a target that is given twice: two runs at the same
 *   time in one folder would disturb each other
 */
export function parsePushTargets(names: readonly string[]): PushTarget[] {
  const targets = names.map(parsePushTarget);
  const known = new Set<string>();
  for (const { name, host, dir } of targets) {
    const key = JSON.stringify([host.toLowerCase(), dir.replace(/(.)\/+$/s, '$1')]);
    if (known.has(key)) throw bad(name, 'it is given twice');
    known.add(key);
  }
  return targets;
}

/** Turns `~/DIR` into a path relative to the home folder, where ssh begins: nothing expands it. */
function fromHome(name: string, dir: string): string {
  if (!dir.startsWith('~')) return dir;
  if (dir === '~') return '.';
  if (!dir.startsWith('~/')) throw bad(name, "another user's home is written as a full path");
  const rest = dir.replace(/^~\/+/, '');
  return rest === '' ? '.' : rest;
}

function bad(name: string, why: string): MillraceError {
  return new MillraceError('bad-option', `${JSON.stringify(name.slice(0, 200))}: ${why}`);
}
