/** Commands that a user has set up: their arguments and their environment. */

/** A command of the settings. Only the daemon's own machine can set it. */
export interface AfterCommand {
  readonly name: string;
  /** The program and its arguments. No shell reads them. */
  readonly args: readonly string[];
  /** Longest time that it may run, in seconds. */
  readonly seconds: number;
}

export const MAX_COMMANDS = 32;
export const MAX_ARGS = 64;
export const MAX_ARG_CHARS = 4096;
export const MAX_SECONDS = 24 * 3600;
export const DEFAULT_SECONDS = 600;

/** Values for the places in arguments. */
export interface CommandValues {
  /** Absolute path of the file. */
  readonly path: string;
  readonly name: string;
  /** Absolute path of the file's folder. */
  readonly folder: string;
  /** First URL, without a log-in. */
  readonly url: string;
  /** `sha256:HEX`, or empty if no digest of the file is known. */
  readonly digest: string;
}

/** Names of the places in arguments, each of which stands in braces. */
export const PLACES = [
  'path',
  'name',
  'folder',
  'url',
  'digest',
] as const satisfies (keyof CommandValues)[];
const PLACE = new RegExp(`\\{(${PLACES.join('|')})\\}`, 'g');

/**
 * Fills the values into the arguments. A value stays inside its argument, whatever is in it. The program
 * itself has no places, so that no file name can choose what is run.
 */
export function filledArgs(args: readonly string[], values: CommandValues): string[] {
  const [program = '', ...rest] = args;
  const filled = rest.map((arg) =>
    arg.replace(PLACE, (_, place: keyof CommandValues) => values[place].replace(/\0/g, '')),
  );
  return [program, ...filled];
}

/**
 * Variables that a command gets from the daemon's environment. Others may hold passwords or tokens, so
 * they are not passed on.
 */
const PASSED =
  /^(?:PATH|PATHEXT|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_[A-Z]+|TZ|TERM|TMPDIR|TEMP|TMP|DISPLAY|WAYLAND_DISPLAY|XAUTHORITY|DBUS_SESSION_BUS_ADDRESS|XDG_[A-Z_]+|SYSTEMROOT|SYSTEMDRIVE|WINDIR|COMSPEC|USERPROFILE|USERNAME|HOMEDRIVE|HOMEPATH|APPDATA|LOCALAPPDATA|PROGRAMDATA|PROGRAMFILES|PROGRAMFILES\(X86\))$/i;

/** Returns the variables of an environment that hold no secrets. */
export function plainEnvironment(
  env: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const kept = Object.entries(env).filter(
    ([name, value]) => PASSED.test(name) && value !== undefined,
  );
  return Object.fromEntries(kept) as Record<string, string>;
}
