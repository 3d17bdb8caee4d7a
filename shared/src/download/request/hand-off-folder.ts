/**
 * Decides where a download that a browser hands over is saved: in the app's folder, or where the
 * browser would have put it. The extension names the browser's folder, and is trusted only within
 * this rule.
 */

/** Folders in the home folder that the system hides and starts programs from, in lower case. */
const SYSTEM_FOLDERS: ReadonlySet<string> = new Set(['appdata', 'library']);

/** Facts that decide the folder. All paths are absolute, with links resolved. */
export interface HandOffFolders {
  /** True if the user wants the browser's folder unless another is chosen. */
  readonly wanted: boolean;
  /** The app's folder for this file. */
  readonly app: string;
  /** True if the user has chosen the app's folder, for the category or for all downloads. */
  readonly chosen: boolean;
  /** The folder that the browser names, and whether the user owns it; undefined: none. */
  readonly browser: { readonly path: string; readonly own: boolean } | undefined;
  /** The user's home folder. */
  readonly home: string;
  /** Folders with the app's own state. */
  readonly state: readonly string[];
  /** True if paths ignore case, and `\` separates names. */
  readonly windows: boolean;
}

/** Chooses whose folder is used; `browser` if both are the same folder. */
export function handOffFolder(folders: HandOffFolders): 'app' | 'browser' {
  const { wanted, chosen, app, browser, home, state, windows } = folders;
  if (browser === undefined) return 'app';
  const below = (path: string, folder: string) => namesBelow(path, folder, windows);
  if (below(browser.path, app)?.length === 0) return 'browser';
  if (chosen || !wanted || !browser.own) return 'app';
  const names = below(browser.path, home);
  if (names === undefined || names.length === 0) return 'app';
  if (names.some((name) => name.startsWith('.'))) return 'app';
  if (SYSTEM_FOLDERS.has((names[0] as string).toLowerCase())) return 'app';
  return state.some((folder) => below(browser.path, folder) !== undefined) ? 'app' : 'browser';
}

/** Returns the names that lead from a folder to a path; undefined: the path is outside. */
function namesBelow(path: string, folder: string, windows: boolean): string[] | undefined {
  const [names, above] = [path, folder].map((text) => namesOf(text, windows)) as [
    string[],
    string[],
  ];
  const key = (name: string | undefined) => (windows ? name?.toLowerCase() : name);
  return above.every((name, i) => key(name) === key(names[i]))
    ? names.slice(above.length)
    : undefined;
}

function namesOf(path: string, windows: boolean): string[] {
  return path.split(windows ? /[/\\]/ : '/').filter((name) => name !== '');
}
