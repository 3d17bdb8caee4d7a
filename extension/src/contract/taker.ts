/**
 * Takers of a browser's downloads: the engine of the desktop, and the one in the extension. Both
 * take a download in two steps. After `offer` the taker has fetched the first bytes and shown that
 * they are of the same file; the download is not visible yet. After `commit` it belongs to the
 * taker, and stays so even after crashes; only then the browser's is ended. Until then the
 * browser's continues if anything is not as it should be.
 */

import { type ErrorCode, isErrorCode } from '@millrace/shared/base/errors';

export type TakerKind = 'desktop' | 'browser';

/** A download of the browser's, as far as another needs it to fetch the same bytes. */
export interface Offer {
  /** Made up by the extension, a UUID. Offering the same twice is offering it once. */
  readonly handOff: string;
  /**
   * URL to ask for: a GET of it brings the same file. After a POST, the URL to which it has led.
   */
  readonly url: string;
  /** Where the redirects have ended. */
  readonly finalUrl: string;
  /** Name that the browser has chosen, without folders. */
  readonly fileName: string;
  /** Absolute: where the browser will have it. */
  readonly path?: string;
  /** Bytes. */
  readonly length: number;
  /** Fields of the browser's answer, as they were; at least one of them is there. */
  readonly etag?: string;
  readonly lastModified?: string;
  readonly contentType?: string;
  /**
   * Fields of the browser's request that identify the user, for this URL only: Cookie,
   * Authorization, Referer, User-Agent, Accept-Language.
   */
  readonly headers: Readonly<Record<string, string>>;
  /** Base URLs of edges that the user or the publisher's page allows for this host. */
  readonly edges: readonly string[];
  /** The edges among them that only the publisher has named. */
  readonly published?: readonly string[];
}

/**
 * unknown: never heard of, given up, or withdrawn. committed: it is the taker's own; `id` names it.
 */
export type OfferState =
  | { readonly state: 'unknown' }
  | { readonly state: 'proving' }
  | { readonly state: 'proven' }
  | { readonly state: 'committed'; readonly id: string };

export interface Taker {
  readonly kind: TakerKind;
  /**
   * Resolves when it is proven.
   *
   * @throws TakerError: the browser's download has to continue. Nothing is left of the offer then
   */
  offer(offer: Offer, signal: AbortSignal): Promise<void>;
  /** Makes it the taker's own; the same twice is once. @returns the download's id @throws TakerError */
  commit(handOff: string): Promise<string>;
  /**
   * Removes all traces of it. It never fails: an offer that cannot be withdrawn expires by itself,
   * after a minute.
   */
  withdraw(handOff: string): Promise<void>;
  /** @throws TakerError where it cannot be asked */
  stateOf(handOff: string): Promise<OfferState>;
}

/**
 * absent: there is no such taker here. refused: it declines that download, with a reason.
 * different: it got another file. failed: it could not fetch it. lost: the connection to it has
 * ended, and the outcome has to be asked for.
 */
export type TakerProblem = 'absent' | 'refused' | 'different' | 'failed' | 'lost';

export class TakerError extends Error {
  readonly problem: TakerProblem;
  /** A code of the table of errors, where it has one. */
  readonly code: string | undefined;

  constructor(problem: TakerProblem, message: string, code?: string) {
    super(message);
    this.name = 'TakerError';
    this.problem = problem;
    this.code = code;
  }
}

/** With these the taker will not have the download. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set([
  'bad-option',
  'bad-url',
  'disk-full',
  'no-such-download',
  'queue-full',
  'url-too-long',
  'wrong-state',
]);
/** With these it got another file, or one not shown to be the same. */
const DIFFERENCES: ReadonlySet<ErrorCode> = new Set([
  'different-file',
  'range-ignored',
  'version-changed',
  'version-unproven',
  'wrong-encoding',
  'wrong-length',
  'wrong-range',
]);

/**
 * Turns a taker's failure into its meaning for the side that has offered the download.
 *
 * @param code of the table of errors; the native host has `unexpected` besides
 */
export function takerError(code: string, message: string): TakerError {
  // The engine has ended, or its state is unknown: the outcome has to be asked for.
  const lost = code.startsWith('daemon-') || code === 'unexpected' || code === 'interrupted';
  if (lost) return new TakerError('lost', message, code);
  if (isErrorCode(code) && REFUSALS.has(code)) return new TakerError('refused', message, code);
  const differs = isErrorCode(code) && DIFFERENCES.has(code);
  return new TakerError(differs ? 'different' : 'failed', message, code);
}

/** Popup's and badge's view of a download, of either taker. */
export interface ShownDownload {
  readonly taker: TakerKind;
  readonly id: string;
  readonly name: string;
  /** As the daemon's; the browser's engine knows active, queued, paused, waiting, complete, error. */
  readonly status: 'active' | 'queued' | 'waiting' | 'paused' | 'complete' | 'error';
  /** Bytes, as all sizes. */
  readonly length?: number | undefined;
  readonly storedBytes: number;
  readonly bytesPerSecond: number;
  readonly etaMs?: number | undefined;
  /** Unix milliseconds. */
  readonly createdAt: number;
  /** Code of the table of errors, and advice. */
  readonly error?: { readonly code: string; readonly message: string } | undefined;
}

/** The user's commands to downloads of either taker. */
export type DownloadCommand = 'pause' | 'resume' | 'remove' | 'open' | 'show';

/** A taker's downloads, beside the taking. */
export interface TakerDownloads {
  readonly kind: TakerKind;
  /** The newest first, 500 at most. @throws TakerError */
  list(): Promise<readonly ShownDownload[]>;
  /** Calls back when the list may have changed, four times a second at most. @returns ends it */
  onChange(listener: () => void): () => void;
  /** @throws TakerError */
  command(id: string, command: DownloadCommand): Promise<void>;
  /** Adds downloads that the browser has not begun, as from the context menu. @throws TakerError */
  add(links: readonly AddedLink[]): Promise<readonly string[]>;
}

export interface AddedLink {
  readonly url: string;
  readonly fileName?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly edges: readonly string[];
  /** The edges among them that only the publisher has named. */
  readonly published?: readonly string[];
}
