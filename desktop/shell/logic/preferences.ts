/** The user's choices for the app: read, checked, changed. */

import { remoteOrigin } from '@millrace/shared/bridge/page/remote-origin';
import { PREFERENCE_NAMES, type ShellPreferences } from '@millrace/shared/bridge/page/shell-api';
import { isObject } from '@millrace/shared/bridge/rpc/json-rpc';

export const DEFAULT_PREFERENCES: ShellPreferences = {
  watchClipboard: false,
  startAtLogin: false,
  stayInTray: true,
  notifications: true,
  defaultHandler: false,
  browserHost: true,
};

/** State that the shell keeps between runs. */
export interface Remembered {
  readonly preferences: ShellPreferences;
  /** True once the user has been told that the app continues without its window. */
  readonly toldOfTray: boolean;
  readonly bounds: Bounds | undefined;
  /** Place of the mini window. */
  readonly miniBounds: Bounds | undefined;
  /** Process of the daemon that the app has started, and that ends with the app. */
  readonly daemonPid: number | undefined;
  /** Origin of the daemon that the window shows in place of this machine's, such as https://nas.example. */
  readonly remote: string | undefined;
}

export interface Bounds {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** Reads the kept state from any text: invalid members count as absent. */
export function readRemembered(text: string): Remembered {
  const value = parsed(text);
  const { toldOfTray, bounds, miniBounds, daemonPid, remote } = value;
  return {
    preferences: { ...DEFAULT_PREFERENCES, ...booleansOf(value.preferences) },
    toldOfTray: toldOfTray === true,
    bounds: isBounds(bounds) ? bounds : undefined,
    miniBounds: isBounds(miniBounds) ? miniBounds : undefined,
    daemonPid: isWhole(daemonPid) && daemonPid > 0 ? daemonPid : undefined,
    remote: typeof remote === 'string' ? remoteOrigin(remote) : undefined,
  };
}

/** Reads a change of preferences. @returns undefined for anything else */
export function readChanges(value: unknown): Partial<ShellPreferences> | undefined {
  if (!isObject(value)) return undefined;
  const changes = booleansOf(value);
  return Object.keys(changes).length === Object.keys(value).length ? changes : undefined;
}

/** Returns the bounds of the window, unless no screen shows enough of it there. */
export function boundsOnScreen(
  bounds: Bounds | undefined,
  screens: readonly Bounds[],
): Bounds | undefined {
  if (bounds === undefined) return undefined;
  const seen = screens.some((screen) => {
    const width =
      Math.min(bounds.x + bounds.width, screen.x + screen.width) - Math.max(bounds.x, screen.x);
    const height =
      Math.min(bounds.y + bounds.height, screen.y + screen.height) - Math.max(bounds.y, screen.y);
    return width >= 200 && height >= 100 && bounds.y >= screen.y;
  });
  return seen ? bounds : undefined;
}

function booleansOf(value: unknown): Partial<ShellPreferences> {
  if (!isObject(value)) return {};
  return Object.fromEntries(
    PREFERENCE_NAMES.filter((name) => typeof value[name] === 'boolean').map((name) => [
      name,
      value[name],
    ]),
  );
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

function isBounds(value: unknown): value is Bounds {
  if (!isObject(value)) return false;
  const { x, y, width, height } = value;
  return [x, y, width, height].every(isWhole) && Number(width) >= 200 && Number(height) >= 100;
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value) && Math.abs(value as number) < 2 ** 31;
}
