/**
 * Additions of the app's window to the page: `window.millraceShell`, absent in a browser. The same
 * page runs in both, so everything here is an extra.
 */

import type { Outgoing } from '../rpc/share-api.ts';

const SHELL_PLATFORMS = ['linux', 'win32', 'darwin'] as const;
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
  /** Registers the native host with this user's browsers: their extension hands downloads over. */
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

/** Outcome of an action of the shell: why it failed, for the user; empty if it succeeded. */
export interface ShellAnswer {
  readonly problem?: string;
}

export interface OfferedMetalink {
  /** Name of the file. */
  readonly name: string;
  /** Its bytes in base64, as `millrace.addMetalink` takes them. */
  readonly metalink: string;
}

/** Menu commands that the page carries out. */
const SHELL_COMMANDS = ['add', 'settings', 'search', 'select-all'] as const;
export type ShellCommand = (typeof SHELL_COMMANDS)[number];

/** Messages from the shell to the page. */
export type ShellMessage =
  /** Links and files from outside: no download starts before the user confirms it. */
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
  /** Version of this interface. */
  readonly version: 1;
  readonly platform: ShellPlatform;
  /** Opens a complete download with the system's default program for it. */
  openFile(gid: string): Promise<ShellAnswer>;
  showInFolder(gid: string): Promise<ShellAnswer>;
  /** Opens the page that a download's link was on, in the user's browser. */
  openPage(gid: string): Promise<ShellAnswer>;
  /** Lets the user choose a folder. @returns its absolute path, null if they cancel */
  chooseFolder(start?: string): Promise<string | null>;
  /**
   * Names a file that the user has dropped or picked to the daemon, which may then send it. The page
   * itself cannot name paths.
   *
   * @param file a `File` of the page
   * @returns undefined if it is not a file of this machine
   */
  offerFile(file: object): Promise<Outgoing | undefined>;
  /**
   * Lets the user choose a folder, and names it to the daemon, which may then send it as a tar.
   *
   * @returns undefined if they cancel
   */
  offerFolder(): Promise<Outgoing | undefined>;
  /** Copies to the clipboard, which the page itself may not touch. */
  copyText(text: string): Promise<ShellAnswer>;
  getPreferences(): Promise<ShellPreferences>;
  /** Preferences that are left out stay. @returns all preferences as they are now */
  setPreferences(changes: Partial<ShellPreferences>): Promise<ShellPreferences>;
  /**
   * Has the window show a daemon on another machine from now on. The app asks the user first, and starts again.
   *
   * @param address as people type it, such as nas.example
   */
  showRemote(address: string): Promise<ShellAnswer>;
  /**
   * Adds a listener. Messages that arrive before the first listener are kept for it.
   *
   * @returns a function that removes the listener
   */
  onMessage(listener: (message: ShellMessage) => void): () => void;
}

/** Members of `window.millraceShell`, exactly. */
export const SHELL_API_MEMBERS = [
  'chooseFolder',
  'copyText',
  'getPreferences',
  'offerFile',
  'offerFolder',
  'onMessage',
  'openFile',
  'openPage',
  'platform',
  'setPreferences',
  'showInFolder',
  'showRemote',
  'version',
] as const satisfies readonly (keyof ShellApi)[];
