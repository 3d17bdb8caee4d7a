/**
 * Logs an unhandled error as the last line of a program's log. Node itself then ends the process,
 * with its usual exit status and stack trace.
 */

export interface FatalError {
  /** Tells whether the error was thrown or is the reason of an unhandled rejection. */
  readonly origin: NodeJS.UncaughtExceptionOrigin;
  readonly error: { readonly type: string; readonly message: string; readonly stack: string };
}

/** Longest message or stack that is logged, in characters: errors may quote strangers. */
const MAX_CHARACTERS = 8192;

/**
 * Reports an error that ends the process. Call it once, as soon as there is a log.
 *
 * @param write must write synchronously, because the process ends when it returns; its own errors
 *   are dropped
 */
export function onFatalError(write: (error: FatalError) => void): void {
  process.on('uncaughtExceptionMonitor', (thrown: unknown, origin) => {
    try {
      write({ origin, error: describe(thrown) });
    } catch {
      // The process must end with the first error, not with an error of `write`.
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
