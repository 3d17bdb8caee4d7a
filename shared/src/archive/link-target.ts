/**
 * Decides whether a symbolic link of an archive stays inside of the folder that the archive is unpacked
 * into, however many other links of the archive its target leads through.
 */

/** Links that one target may lead through, as for Linux itself. */
const MAX_LINKS = 40;
/** Longest target, characters: that of Linux. */
const MAX_TARGET_CHARS = 4095;

/** All that an archive puts into its folder, by paths below it. */
export interface Unpackings {
  readonly folders: { has(path: string): boolean };
  /** Targets of the symbolic links. */
  readonly links: ReadonlyMap<string, string>;
}

/** Finds the fault of a target by itself. @returns a clause; undefined if it has none */
export function targetFault(target: string): string | undefined {
  if (target === '') return 'its target is empty';
  if (target.length > MAX_TARGET_CHARS) return 'its target is too long';
  if (/[\x00-\x1f\x7f\\]/.test(target)) return 'its target has a control character or a backslash';
  if (target.startsWith('/') || /^[a-z]:/i.test(target)) return 'its target is absolute';
  return undefined;
}

/**
 * Returns true if a link leads to nothing outside. `..` counts as outside after a name that the archive
 * has no folder of: what a file system finds there cannot be told, because some ignore case.
 *
 * @param path of the link, below the root
 * @param root folder that it must stay in, as a path that ends in `/`; empty: the whole archive
 */
export function staysInside(path: string, root: string, { folders, links }: Unpackings): boolean {
  const names = path.slice(root.length).split('/').slice(0, -1);
  const left = partsOf(links.get(path) ?? '');
  let followed = 0;
  for (let name = left.shift(); name !== undefined; name = left.shift()) {
    if (name === '..') {
      if (names.length === 0 || !folders.has(root + names.join('/'))) return false;
      names.pop();
      continue;
    }
    const next = links.get(root + [...names, name].join('/'));
    if (next === undefined) names.push(name);
    else if (++followed > MAX_LINKS) return false;
    else left.unshift(...partsOf(next));
  }
  return true;
}

function partsOf(target: string): string[] {
  return target.split('/').filter((name) => name !== '' && name !== '.');
}
