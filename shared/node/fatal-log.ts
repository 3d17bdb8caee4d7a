/**
 * The last line of a program's log: an error that nothing has handled. Node ends the process by
 * itself, with the status and the trace that it has for it; here it is only told to the log before.
 */

export interface FatalError {
  /** Whether it was thrown, or is the reason of an unhandled promise. */
  readonly origin: NodeJS.UncaughtExceptionOrigin;
  readonly error: { readonly type: string; readonly message: string; readonly stack: string };
}

/** Longest message and stack that are logged, in characters: errors may quote strangers. */
const MAX_CHARACTERS = 8192;

/**
 * Tells of an error that ends the process. To be called once, as soon as there is a log.
 *
 * @param write has to write synchronously: the process ends when it returns; its own errors are
 *   dropped
 */
export function onFatalError(write: (error: FatalError) => void): void {
  process.on('uncaughtExceptionMonitor', (thrown: unknown, origin) => {
    try {
      write({ origin, error: describe(thrown) });
    } catch {
      // The process ends with the first error, not with this one.
    }
  });
}

function describe(thrown: unknown): FatalError['error'] {
  if (!(thrown instanceof Error)) {
    return { type: typeof thrown, message: shorten(String(thrown)), stack: '' };
  }
  const { name, message, stack = '' } = thrown;
  return { type: name, message: shorten(message), stack: shorten(stack) };
}

function shorten(text: string): string {
  return text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}…` : text;
}
