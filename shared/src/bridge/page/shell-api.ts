/**
 * Additions of the app's window to the page: `window.millraceShell`, absent in a browser. The same
 * page runs in both, so everything here is an extra.
 */

export const SHELL_PLATFORMS = ['linux', 'win32', 'darwin'] as const;
export type ShellPlatform = (typeof SHELL_PLATFORMS)[number];

/** The user's choices for the app itself; the daemon keeps all other settings. */
export interface ShellPreferences {
  /** Offers links that are copied. */
  readonly watchClipboard: boolean;
  /** Starts, without a window, when the user logs in. */
  readonly startAtLogin: boolean;
  /** Closing the window leaves the app in the tray, and downloads continue. */
  readonly stayInTray: boolean;
  readonly notifications: boolean;
  /** Opens `.meta4` files and `millrace:` links. */
  readonly defaultHandler: boolean;
  /** Browsers that are used here know where to find us: their extension hands downloads over. */
  readonly browserHost: boolean;
}

export const PREFERENCE_NAMES = [
  'watchClipboard',
  'startAtLogin',
  'stayInTray',
  'notifications',
  'defaultHandler',
  'browserHost',
] as const satisfies readonly (keyof ShellPreferences)[];

/** Why the shell did not do it, for the user; nothing where it did. */
export interface ShellAnswer {
  readonly problem?: string;
}

export interface OfferedMetalink {
  /** Name of the file. */
  readonly name: string;
  /** Its bytes in base64, as `millrace.addMetalink` takes them. */
  readonly metalink: string;
}

/** Commands of the menus for the page. */
export const SHELL_COMMANDS = ['add', 'settings', 'search', 'select-all'] as const;
export type ShellCommand = (typeof SHELL_COMMANDS)[number];

/** Messages from the shell to the page. */
export type ShellMessage =
  /** Came from outside: nothing starts before the user has said so. */
  | {
      readonly kind: 'offer';
      readonly from: 'link' | 'file' | 'clipboard';
      readonly urls: readonly string[];
      readonly metalinks: readonly OfferedMetalink[];
    }
  | { readonly kind: 'command'; readonly command: ShellCommand }
  /** The user has clicked on a notification. */
  | { readonly kind: 'reveal'; readonly gid: string };

export interface ShellApi {
  /** Of this interface. */
  readonly version: 1;
  readonly platform: ShellPlatform;
  /** Opens a complete download with the program that the system has for it. */
  openFile(gid: string): Promise<ShellAnswer>;
  showInFolder(gid: string): Promise<ShellAnswer>;
  /** Lets the user choose a folder. @returns its absolute path, null if they cancel */
  chooseFolder(start?: string): Promise<string | null>;
  /** To the clipboard, which the page itself may not touch. */
  copyText(text: string): Promise<ShellAnswer>;
  getPreferences(): Promise<ShellPreferences>;
  /** Omitted preferences stay. @returns the preferences that now apply */
  setPreferences(changes: Partial<ShellPreferences>): Promise<ShellPreferences>;
  /** Messages that arrive before the first listener are kept for it. @returns ends it */
  onMessage(listener: (message: ShellMessage) => void): () => void;
}

/** Members of `window.millraceShell`, exactly. */
export const SHELL_API_MEMBERS = [
  'chooseFolder',
  'copyText',
  'getPreferences',
  'onMessage',
  'openFile',
  'platform',
  'setPreferences',
  'showInFolder',
  'version',
] as const satisfies readonly (keyof ShellApi)[];
