/**
 * Reduces the entries of an untrusted list to harmless members: URLs, names and folders below the
 * download folder, digests, speeds and times. Members that are not named here are left out, so that
 * a new member stays out until it has been judged harmless.
 */

import type { DelicateKind, DelicatePart } from '@millrace/shared/bridge/rpc/adding-api';
import { isImpersonal } from '@millrace/shared/download/request/edge-use';
import { folderBelow, nameBelow } from '@millrace/shared/download/request/imported-path';
import type { NewDownload } from './download-schema.ts';

export type { DelicatePart };

export interface Cleaned {
  readonly download: NewDownload;
  readonly delicate: readonly DelicatePart[];
}

/** Members that follow from others, or that are set for every entry. */
const IMPLIED: ReadonlySet<string> = new Set(['aria2', 'rename', 'within', 'listed']);

const HARMLESS: ReadonlySet<string> = new Set<keyof NewDownload>([
  'urls',
  'length',
  'digests',
  'pieces',
  'exnode', // names places as `urls` does, and they are held to the same rule
  'sidecars',
  'connections',
  'connectionsPerHost',
  'redundancy',
  'redundantShare',
  'limit',
  'timeoutMs',
  'retryForMs',
  'login', // for the entry's own URL, like a user name in it
  'gid',
  'priority',
  'paused',
  'startAt',
  'category',
  'maxTries',
  'follow', // its files are a stranger's words as well, whatever it says
]);

/** Values that change nothing: members with these values are left out without a report. */
const USUAL: Readonly<Record<string, unknown>> = {
  overwrite: false,
  rename: true,
  netrc: false,
  direct: true,
  useEdges: false,
};

const NAMES: Readonly<Record<string, DelicateKind>> = {
  overwrite: 'overwrite',
  cookieFile: 'cookie-file',
  netrc: 'netrc',
  proxy: 'proxy',
  edges: 'edges',
};

/**
 * Removes the parts of an entry that a stranger must not set.
 *
 * @param base absolute path of the download folder
 * @param windows true on Windows
 */
export function withoutDelicate(entry: NewDownload, base: string, windows: boolean): Cleaned {
  const download: Record<string, unknown> = {};
  const delicate: DelicatePart[] = [];
  for (const [name, value] of Object.entries(entry)) {
    if (value === undefined || value === null || value === USUAL[name]) continue;
    if (HARMLESS.has(name)) download[name] = value;
    else if (IMPLIED.has(name)) continue;
    else if (name === 'dir') placeFolder(String(value));
    else if (name === 'file') placeName(String(value));
    else if (name === 'headers') keepImpersonal(value as object);
    else if (!isEmpty(value)) {
      const what = NAMES[name] ?? 'other';
      delicate.push({ what, value: what === 'other' ? name : shown(name, value) });
    }
  }
  // The file never replaces another one.
  const safe = { ...download, listed: true, rename: true, overwrite: false };
  return { download: safe as unknown as NewDownload, delicate };

  function placeFolder(dir: string): void {
    const folder = folderBelow(base, dir, windows);
    if (folder === undefined) delicate.push({ what: 'folder', value: dir });
    else if (folder !== '') {
      download.dir = folder;
      download.within = base;
    }
  }

  function placeName(file: string): void {
    const name = nameBelow(file);
    if (name === undefined) delicate.push({ what: 'name', value: file });
    else {
      download.file = name;
      download.within ??= '.';
    }
  }

  function keepImpersonal(headers: object): void {
    const fields = Object.entries(headers);
    const kept = fields.filter(([field]) => isImpersonal(field));
    const others = fields.filter(([field]) => !isImpersonal(field)).map(([field]) => field);
    if (kept.length > 0) download.headers = Object.fromEntries(kept);
    if (others.length > 0) delicate.push({ what: 'headers', value: others.join(', ') });
  }
}

function shown(name: string, value: unknown): string {
  // A proxy's URL may contain a password.
  if (name === 'proxy') return String(value).replace(/\/\/[^@]*@/, '//');
  if (Array.isArray(value)) return value.join(', ');
  return typeof value === 'string' ? value : '';
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}
