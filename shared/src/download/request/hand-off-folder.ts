/**
 * Decides where a download that a browser hands over is saved: in the app's folder, or where the
 * browser would have put it. The extension names the browser's folder, and is trusted only within
 * this rule.
 */

/** Folders that the system hides, and from which it starts programs. */
const SYSTEM_FOLDERS: ReadonlySet<string> = new Set(['appdata', 'library']);

/** All paths are absolute, without links in them. */
export interface HandOffFolders {
  /** The user wants the browser's folder if no other is chosen. */
  readonly wanted: boolean;
  /** The app's folder for this file. */
  readonly app: string;
  /** The user has chosen that folder, for the category or for all downloads. */
  readonly chosen: boolean;
  /** The folder that the browser names, and whether it is the user's; undefined: there is none. */
  readonly browser: { readonly path: string; readonly own: boolean } | undefined;
  /** The user's home folder. */
  readonly home: string;
  /** Folders with the app's own state. */
  readonly state: readonly string[];
  /** True if upper and lower case are the same, and `\` separates names. */
  readonly windows: boolean;
}

/** Chooses whose folder is used; `browser` also if both have the same. */
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

/** The names that lead from a folder to a path; undefined if the path is outside the folder. */
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
