/** The desktop app's additions to the page; undefined in a browser. */

import type { ShellApi } from '@millrace/shared/bridge/page/shell-api';

declare global {
  interface Window {
    readonly millraceShell?: ShellApi;
  }
}

export const shell: ShellApi | undefined = window.millraceShell;

/** True if the page is on the daemon's own machine: only there paths mean the same to both. */
export const isOwnMachine =
  shell !== undefined || /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(location.hostname);

/** Copies a text. @returns true once it is on the clipboard */
export async function copyText(text: string): Promise<boolean> {
  try {
    if (shell !== undefined) return (await shell.copyText(text)).problem === undefined;
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
