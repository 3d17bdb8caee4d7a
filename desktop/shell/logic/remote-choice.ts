/** Decides whose daemon the window shows: this machine's, or that of another one. */

import { remoteOrigin } from '@millrace/shared/bridge/page/remote-origin';

export type RemoteChoice =
  /** The daemon of this machine. */
  | { readonly kind: 'here' }
  /** A daemon elsewhere: its origin, such as https://nas.example, and whether the setting of the app names it. */
  | { readonly kind: 'elsewhere'; readonly origin: string; readonly isSetting: boolean }
  /** An unusable address, as it was given. */
  | { readonly kind: 'wrong'; readonly given: string };

/**
 * Reads `--remote URL` or `--remote=URL` among the arguments of a start; the last one counts.
 *
 * @param variable value of MILLRACE_REMOTE, which stands for the option, as in commands
 * @param setting origin that the app remembers, which counts where a start names none
 */
export function remoteChoice(
  args: readonly string[],
  variable: string | undefined,
  setting?: string,
): RemoteChoice {
  let given = variable === '' ? undefined : variable;
  args.forEach((word, at) => {
    if (word === '--remote') given = args[at + 1] ?? '';
    else if (word.startsWith('--remote=')) given = word.slice('--remote='.length);
  });
  if (given === undefined) {
    if (setting === undefined) return { kind: 'here' };
    return { kind: 'elsewhere', origin: setting, isSetting: true };
  }
  const origin = remoteOrigin(given);
  if (origin === undefined) return { kind: 'wrong', given };
  return { kind: 'elsewhere', origin, isSetting: false };
}

/**
 * Returns the arguments with which the app starts again for another daemon: its switches, but no links, no
 * daemon, and with a window.
 *
 * @param program number of arguments that name the app: the first ones that are no switches, since those of
 *   Electron itself come before its app
 */
export function restartArguments(args: readonly string[], program: number): string[] {
  let names = 0;
  return withoutRemote(args).filter((word) =>
    word.startsWith('--') ? word !== '--hidden' : names++ < program,
  );
}

/** Returns the arguments without `--remote`, whose address would otherwise be one to download. */
export function withoutRemote(args: readonly string[]): string[] {
  return args.filter(
    (word, at) =>
      word !== '--remote' && !word.startsWith('--remote=') && args[at - 1] !== '--remote',
  );
}

/** Returns the name of a folder for a daemon's own cookies and settings, on any file system. */
export function folderOf(origin: string): string {
  return new URL(origin).host.replace(/[^a-z0-9.-]/g, '_');
}

/**
 * Returns the address that has a daemon's page offer URLs for download, as phones share links with
 * it; without URLs, that of the page.
 */
export function offerAddress(origin: string, urls: readonly string[]): string {
  const address = new URL(origin);
  if (urls.length > 0) address.searchParams.set('text', urls.join('\n'));
  return address.href;
}
