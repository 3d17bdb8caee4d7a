/**
 * Parameters of callers from other machines. Their downloads stay in the download folder and the
 * folders of categories, links included, and they replace no file and read none. Members that are
 * not known to be harmless are refused, so that a new one is not allowed by being forgotten.
 */

import { realpath } from 'node:fs/promises';
import { dirname, isAbsolute, relative, resolve, sep } from 'node:path';
import { MillraceError } from '@millrace/shared/base/errors';

/** Folders that downloads of other machines may go to. */
export interface Places {
  /** Download folder, absolute: relative folders start from it. */
  readonly root: string;
  /** Folders of the categories, absolute. */
  readonly others: readonly string[];
}

/** Members that name no file, and run nothing. `dir`, `file` and `downloads` are checked. */
const HARMLESS: ReadonlySet<string> = new Set([
  'category',
  'connections',
  'connectionsPerHost',
  'copies',
  'depots',
  'depth',
  'dialog',
  'digests',
  'direct',
  'edges',
  'encrypt',
  'exnode',
  'follow',
  'format',
  'gid',
  'gids',
  'headers',
  'length',
  'limit',
  'listed',
  'loci',
  'login',
  'maxTries',
  'metalink',
  'mirrors',
  'name',
  'only',
  'paused',
  'pieces',
  'position',
  'priority',
  'proxy',
  'redundancy',
  'redundantShare',
  'rename',
  'retry',
  'retryForMs',
  'seconds',
  'sidecars',
  'startAt',
  'text',
  'timeoutMs',
  'urls',
  'useEdges',
  'which',
]);

/** Members of a browser's offer; its `path` is one of the other machine, and means nothing here. */
const OF_OFFERS: ReadonlySet<string> = new Set([
  'handOff',
  'url',
  'finalUrl',
  'fileName',
  'length',
  'etag',
  'lastModified',
  'contentType',
  'headers',
  'edges',
  'onlyRenews',
]);

/** Options of aria2 that name a file, or replace one. */
const DELICATE_OPTIONS: Readonly<Record<string, (value: string) => boolean>> = {
  'allow-overwrite': (value) => value !== 'false',
  out: (value) => !isBareName(value.replace(/^[/\\]+/, '')),
};

/**
 * Checks the parameters of a method whose rule is `places`.
 *
 * @returns the parameters to use
 * @throws MillraceError `not-remote`
 */
export async function checkedParams(
  method: string,
  params: readonly unknown[],
  places: Places,
): Promise<readonly unknown[]> {
  if (method.startsWith('aria2.')) {
    // All others have their options second.
    await checkOptions(params[method === 'aria2.addTorrent' ? 2 : 1], places);
    return params;
  }
  const [given, ...rest] = params;
  // The method itself refuses other values than objects.
  if (!isRecord(given)) return params;
  if (method === 'millrace.offer') return [only(given, OF_OFFERS), ...rest];
  await checkMembers(given, places);
  return [given, ...rest];
}

/** Throws unless a person from another machine may make this change of the settings. */
export async function checkSettings(given: unknown, places: Places): Promise<void> {
  if (!isRecord(given)) return;
  if (given.dir !== undefined && !(typeof given.dir === 'string' && same(given.dir, places.root))) {
    throw refused('the download folder');
  }
  const { categories } = given;
  if (!Array.isArray(categories)) return;
  for (const category of categories) {
    const folder: unknown = isRecord(category) ? category.folder : undefined;
    if (typeof folder === 'string') await checkFolder(folder, places);
  }
}

async function checkMembers(given: Record<string, unknown>, places: Places): Promise<void> {
  for (const [name, value] of Object.entries(given)) {
    if (HARMLESS.has(name)) continue;
    if (name === 'dir') await checkFolder(value, places);
    else if (name === 'file') checkName(value);
    else if (name === 'downloads' && Array.isArray(value)) {
      for (const one of value) if (isRecord(one)) await checkMembers(one, places);
    } else if (value !== undefined && value !== null && value !== false) throw refused(name);
  }
}

async function checkOptions(options: unknown, places: Places): Promise<void> {
  if (!isRecord(options)) return;
  for (const [name, value] of Object.entries(options)) {
    if (name === 'dir') await checkFolder(String(value), places);
    else if (DELICATE_OPTIONS[name]?.(String(value)) === true) throw refused(name);
  }
}

/** A `file` may also be the id of a copy that a page has sent, which is a bare name as well. */
function checkName(value: unknown): void {
  if (value === undefined || (typeof value === 'string' && isBareName(value))) return;
  throw refused('a file name with folders in it');
}

function isBareName(name: string): boolean {
  return !/[/\\]/.test(name) && name !== '..' && name !== '.';
}

/** Throws unless a folder, with links resolved, is one of the places or below one. */
async function checkFolder(value: unknown, { root, others }: Places): Promise<void> {
  if (value === undefined || value === null || value === '') return;
  if (typeof value !== 'string' || value.includes('\0')) throw refused('that folder');
  const folder = resolve(root, value);
  for (const place of [root, ...others]) {
    if (!isBelow(folder, place)) continue;
    if (isBelow(await realPlace(folder), await realPlace(place))) return;
  }
  throw refused(`the folder ${value}, which is outside the download folder`);
}

/** Resolves the links of a path whose end need not exist. */
async function realPlace(path: string): Promise<string> {
  const missing: string[] = [];
  for (let at = path; ; at = dirname(at)) {
    try {
      return resolve(await realpath(at), ...missing);
    } catch (error) {
      const gone = (error as NodeJS.ErrnoException).code === 'ENOENT';
      if (!gone || dirname(at) === at) throw refused('a folder that cannot be read');
      missing.unshift(relative(dirname(at), at));
    }
  }
}

function isBelow(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way === '' || !(way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way));
}

function same(one: string, other: string): boolean {
  return resolve(other, one) === other;
}

function only(given: Record<string, unknown>, names: ReadonlySet<string>): object {
  return Object.fromEntries(Object.entries(given).filter(([name]) => names.has(name)));
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function refused(what: string): MillraceError {
  return new MillraceError('not-remote', what);
}
