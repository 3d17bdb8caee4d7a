/** Parsers of the page's messages, one for each call. */

import type { ShellCall, ShellCalls } from './payload-channels.ts';
import { readChanges } from './preferences.ts';

const MAX_PATH_CHARS = 4096;
/** Longest address of a daemon, as its user has typed it. */
const MAX_ADDRESS_CHARS = 2048;
/** Most characters of a text that is copied: a list of many thousand URLs. */
const MAX_COPY_CHARS = 16 * 1024 * 1024;

type Parsers = { readonly [C in ShellCall]: (value: unknown) => ShellCalls[C] };

/** Parsers by call; each throws a TypeError for an invalid payload. */
export const PARSERS: Parsers = {
  openFile: gid,
  showInFolder: gid,
  openPage: gid,
  chooseFolder: (value) => (value === undefined ? undefined : text(value, MAX_PATH_CHARS)),
  offerFile: (value) => text(value, MAX_PATH_CHARS),
  offerFolder: nothing,
  copyText: (value) => text(value, MAX_COPY_CHARS),
  getPreferences: nothing,
  setPreferences: (value) => readChanges(value) ?? refuse('preferences'),
  showRemote: (value) => text(value, MAX_ADDRESS_CHARS),
  listen: nothing,
};

export const SHELL_CALLS = Object.keys(PARSERS) as ShellCall[];

function gid(value: unknown): string {
  return typeof value === 'string' && /^[0-9a-f]{16}$/.test(value) ? value : refuse('gid');
}

function text(value: unknown, maxChars: number): string {
  return typeof value === 'string' && value.length <= maxChars ? value : refuse('text');
}

function nothing(value: unknown): undefined {
  if (value !== undefined) refuse('nothing');
}

function refuse(what: string): never {
  throw new TypeError(`this is no ${what}`);
}
