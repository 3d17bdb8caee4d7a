/**
 * Takers of a browser's downloads: the engine of the desktop, the engine in the extension, and a
 * daemon on another machine. All take a download in two steps. After `offer`, the taker has fetched the first bytes and shown that
 * they belong to the same file; the download is not visible yet. After `commit`, the download
 * belongs to the taker, even after crashes; only then is the browser's download ended. Until then
 * the browser's download continues if anything goes wrong.
 */

import { type ErrorCode, isErrorCode } from '@millrace/shared/base/errors';
import type { NativeDownload } from '@millrace/shared/bridge/native/native-api';

export type TakerKind = 'desktop' | 'browser' | 'remote';

/** Description of a browser's download that lets a taker fetch the same bytes. */
export interface Offer {
  /** UUID that the extension makes up. Repeating an offer with the same UUID changes nothing. */
  readonly handOff: string;
  /**
   * URL to request: a GET of it returns the same file. After a POST, the URL to which the POST led.
   */
  readonly url: string;
  /** URL after all redirects. */
  readonly finalUrl: string;
  /** File name that the browser has chosen, without folders. */
  readonly fileName: string;
  /** Absolute path at which the browser will save the file. */
  readonly path?: string;
  /** Length of the file, bytes. */
  readonly length: number;
  /** Fields of the answer to the browser, unchanged; at least one of them is present. */
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
  /** Those of `edges` that only the publisher has named. */
  readonly published?: readonly string[];
  /** True for a file that is taken only if an earlier download continues with it. */
  readonly onlyRenews?: boolean;
}

/**
 * State of an offer. unknown: never received, given up, or withdrawn. committed: the download
 * belongs to the taker, which calls it `id`.
 */
export type OfferState =
  | { readonly state: 'unknown' }
  | { readonly state: 'proving' }
  | { readonly state: 'proven' }
  | { readonly state: 'committed'; readonly id: string };

export interface Taker {
  readonly kind: TakerKind;
  /**
   * Offers a download; resolves when the taker has proven it.
   *
   * @throws TakerError if the browser's download has to continue; the taker then keeps nothing of
   * the offer
   */
  offer(offer: Offer, signal: AbortSignal): Promise<void>;
  /**
   * Gives an offered download to the taker; repeating the call changes nothing.
   *
   * @returns the download's id
   * @throws TakerError
   */
  commit(handOff: string): Promise<string>;
  /**
   * Removes all traces of an offer. It never fails: an offer that cannot be withdrawn expires by
   * itself, after a minute.
   */
  withdraw(handOff: string): Promise<void>;
  /** Returns the state of an offer. @throws TakerError if the taker cannot be asked */
  stateOf(handOff: string): Promise<OfferState>;
}

/**
 * Problem of a taker. absent: there is no such taker here. refused: the taker declines the
 * download, with a reason. different: the taker got another file. failed: the taker could not fetch
 * the file. lost: the connection to the taker has ended, and the outcome has to be asked for.
 */
export type TakerProblem = 'absent' | 'refused' | 'different' | 'failed' | 'lost';

export class TakerError extends Error {
  readonly problem: TakerProblem;
  /** Code of the table of errors, if the error has one. */
  readonly code: string | undefined;

  constructor(problem: TakerProblem, message: string, code?: string) {
    super(message);
    this.name = 'TakerError';
    this.problem = problem;
    this.code = code;
  }
}

/** Errors with which a taker refuses a download. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set([
  'bad-option',
  'bad-url',
  'disk-full',
  'no-such-download',
  'queue-full',
  'url-too-long',
  'wrong-state',
]);
/** Errors after which a taker got another file, or one not shown to be the same. */
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
 * Turns a taker's failure into its meaning for the side that offered the download.
 *
 * @param code code of the table of errors; the native host also has `unexpected`
 */
export function takerError(code: string, message: string): TakerError {
  // The engine has ended, or its state is unknown: the outcome has to be asked for.
  const lost = code.startsWith('daemon-') || code === 'unexpected' || code === 'interrupted';
  if (lost) return new TakerError('lost', message, code);
  if (isErrorCode(code) && REFUSALS.has(code)) return new TakerError('refused', message, code);
  const differs = isErrorCode(code) && DIFFERENCES.has(code);
  return new TakerError(differs ? 'different' : 'failed', message, code);
}

/** A download of any taker as the popup and the badge show it. */
export interface ShownDownload extends Omit<NativeDownload, 'gid'> {
  readonly taker: TakerKind;
  readonly id: string;
}

/** The user's commands for downloads of any taker; `remote` cannot open or show its files. */
export type DownloadCommand = 'pause' | 'resume' | 'remove' | 'open' | 'show';

/** Lists and commands of a taker's downloads, apart from taking offers. */
export interface TakerDownloads {
  readonly kind: TakerKind;
  /** Lists downloads, newest first, 500 at most. @throws TakerError */
  list(): Promise<readonly ShownDownload[]>;
  /**
   * Calls back when the list may have changed, four times a second at most.
   *
   * @returns a function that ends the calls
   */
  onChange(listener: () => void): () => void;
  /** Carries out a command of the user. @throws TakerError */
  command(id: string, command: DownloadCommand): Promise<void>;
  /**
   * Adds downloads that the browser has not begun, as from the context menu.
   *
   * @returns their ids
   * @throws TakerError
   */
  add(links: readonly AddedLink[]): Promise<readonly string[]>;
}

export interface AddedLink {
  readonly url: string;
  readonly fileName?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly edges: readonly string[];
  /** Those of `edges` that only the publisher has named. */
  readonly published?: readonly string[];
}
