/** Members of a row of the table of errors. */

/**
 * At fault: `client`, the request; `source`, the origin or its answer; `node`, a node on the way
 * (an edge, a peer, a proxy) by its policy or its load; `download`, the machine that downloads
 * (its disk, its network, its programs).
 */
export type FaultScope = 'client' | 'source' | 'node' | 'download';

/**
 * Whether asking again can help: `no`, not without a change; `anew`, only by starting again (with a
 * new version, once there is room); `later`, the same server after a pause; `at once`, the same
 * server for the rest, since the connection broke and the answer was sound (ANYCAST 3.1.1).
 */
export type Again = 'no' | 'anew' | 'later' | 'at once';

/**
 * Consequences of an error, which every code has. Code that reacts to errors decides by these.
 */
export interface Meaning {
  readonly scope: FaultScope;
  readonly again: Again;
  /** Whether the bytes received in the same answer are trusted. */
  readonly bytes: 'kept' | 'dropped';
  /** Change of the file at the URL that the failure implies, if any. */
  readonly file: 'gone' | 'other version' | undefined;
  /**
   * Files that a node refuses by its policy, if the error is such a refusal: all of the origin, or
   * this one. The node serves everything else as before.
   */
  readonly refuses: 'origin' | 'file' | undefined;
  /** True when the same request may succeed later or at another source without being changed. */
  readonly retryable: boolean;
}

/** One row of the table. */
export interface ErrorRow extends Meaning {
  /** HTTP status an edge answers with (the nearest HTTP meaning if no HTTP is involved). */
  readonly status: number;
  /** Exit status of the command line, see `EXIT`. */
  readonly exit: number;
  /** The event in a few words; the same text for every occurrence (RFC 9457 `title`). */
  readonly title: string;
  /** One sentence about what the reader can do. */
  readonly advice: string;
  /**
   * The advice for a file that its source sends in one piece; present where the other advice
   * promises that stored bytes are used again.
   */
  readonly onePiece?: string;
}

/** Exit statuses of the command line. */
export const EXIT = {
  ok: 0,
  unexpected: 1,
  usage: 2,
  network: 3,
  refused: 4,
  checksum: 5,
  filesystem: 6,
  source: 7,
  partial: 8,
  interrupted: 130,
} as const;

/**
 * The meaning of an error.
 *
 * @param file change of the file that the failure implies; default: none
 */
export function means(
  scope: FaultScope,
  again: Again,
  bytes: Meaning['bytes'],
  file?: Exclude<Meaning['file'], undefined>,
): Meaning {
  return { scope, again, bytes, file, refuses: undefined, retryable: again !== 'no' };
}

/** The meaning of a node's refusal by policy, which holds until its operator changes the policy. */
export function refusal(refuses: Exclude<Meaning['refuses'], undefined>): Meaning {
  return { ...means('node', 'no', 'kept'), refuses };
}

/** The reason why a download cannot be continued. */
export const AS_ONE_PIECE = 'because the source sends the file in one piece';
