/** The daemon on another machine, as the options show it. Its token never leaves the background. */

/**
 * Reason why the daemon on another machine is not available. unreachable: no answer by https, or a
 * certificate that the browser does not trust; refused: it does not serve under this address;
 * revoked: it does not know this browser any more; no-daemon: something else answers there.
 */
export type RemoteProblem = 'unreachable' | 'refused' | 'revoked' | 'no-daemon';

/** Reason why pairing failed. full: it has too many devices; wait: too many wrong codes. */
export type PairProblem = Exclude<RemoteProblem, 'revoked'> | 'wrong-code' | 'full' | 'wait';

export interface RemoteState {
  /** Origin of the paired daemon; undefined if there is none. */
  readonly url: string | undefined;
  /** Undefined if the daemon answers, or has not been asked. */
  readonly problem: RemoteProblem | undefined;
}

/**
 * Reads the address of a daemon as users type it, with or without `https://`.
 *
 * @returns its origin; undefined if it cannot be reached by https
 */
export function remoteOrigin(typed: string): string | undefined {
  const bare = typed.trim();
  const text = /^[a-z][a-z0-9+.-]*:\/\//i.test(bare) ? bare : `https://${bare}`;
  try {
    const url = new URL(text);
    const plain = url.protocol === 'https:' && url.username + url.password === '';
    return plain && url.hostname !== '' && url.host.length <= 260 ? url.origin : undefined;
  } catch {
    return undefined;
  }
}
