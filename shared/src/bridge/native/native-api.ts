/**
 * Messages between the browser extension and the native host, over the browser's native messaging:
 * JSON, one answer to each request. The host passes requests on to the daemon, which it starts if
 * none runs; it decides nothing.
 */

/** Name that the host is registered under. */
export const NATIVE_HOST = 'dev.millrace.host';
/** Of this conversation. The host refuses others, and says which it knows. */
export const NATIVE_VERSION = 1;
/** Browsers take no longer messages from a host. */
export const MAX_TO_BROWSER_BYTES = 1024 * 1024;
/** Longest message from a browser: offers are small, and lists of links are split. */
export const MAX_FROM_BROWSER_BYTES = 4 * 1024 * 1024;

/** Identities of our extension, which alone may talk to the host. */
export const CHROMIUM_EXTENSION_ID = 'fbgofjbfhfaiaophmcbdpombpjckagjn';
export const FIREFOX_EXTENSION_ID = 'millrace@millrace.dev';

/** As `Offer` of the extension, for the daemon. */
export interface NativeOffer {
  /** UUID. */
  readonly handOff: string;
  readonly url: string;
  readonly finalUrl: string;
  readonly fileName: string;
  /** Absolute: where the browser will have it. A wish, which the daemon follows where it may. */
  readonly path?: string | undefined;
  /** Bytes. */
  readonly length: number;
  readonly etag?: string | undefined;
  readonly lastModified?: string | undefined;
  readonly contentType?: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly edges: readonly string[];
}

export type NativeOfferState =
  | { readonly state: 'unknown' | 'proving' | 'proven' }
  | { readonly state: 'committed'; readonly gid: string };

/** Requests by `type`, with their parameters and results. */
export interface NativeCalls {
  /** The first one: before it, all others are refused. */
  hello: {
    params: { readonly version: number; readonly browser: string };
    result: {
      readonly version: number;
      /** Of the daemon, which runs from now on. */
      readonly engine: string;
    };
  };
  /** Answered when the first bytes have been shown to be of the same file. */
  offer: { params: NativeOffer; result: Record<string, never> };
  commit: { params: { readonly handOff: string }; result: { readonly gid: string } };
  /**
   * Removes every trace of the hand-off, also of one that was committed and is not complete: the
   * browser's own download continues in its place.
   */
  withdraw: { params: { readonly handOff: string }; result: Record<string, never> };
  /**
   * Removes a download with all its data, including a complete file: the browser has the same file,
   * or the user does not want it. Removing an unknown download is not an error.
   */
  discard: {
    params: {
      readonly gid: string;
      /**
       * Absolute path of the browser's own file. Where the download has the same path, the existing
       * file stays: the browser may have saved its own under that name.
       */
      readonly kept?: string | undefined;
    };
    result: Record<string, never>;
  };
  offerState: { params: { readonly handOff: string }; result: NativeOfferState };
  /** Newest first; `DownloadView` of the daemon, cut down. */
  list: {
    params: { readonly limit: number };
    result: { readonly downloads: readonly NativeDownload[] };
  };
  /** From then on `changed` is sent when the list has changed, four times a second at most. */
  watch: { params: { readonly on: boolean }; result: Record<string, never> };
  command: {
    params: {
      readonly gid: string;
      readonly command: 'pause' | 'resume' | 'remove' | 'open' | 'show';
    };
    result: Record<string, never>;
  };
  add: {
    params: {
      readonly links: readonly {
        readonly url: string;
        readonly fileName?: string | undefined;
        readonly headers: Readonly<Record<string, string>>;
        readonly edges: readonly string[];
      }[];
    };
    /** In the order of the links; null where one could not be added. */
    result: { readonly gids: readonly (string | null)[] };
  };
  /** Opens the app's window, or its page. */
  openApp: { params: Record<string, never>; result: Record<string, never> };
}

export type NativeType = keyof NativeCalls;

export interface NativeDownload {
  readonly gid: string;
  readonly name: string;
  readonly status: 'active' | 'queued' | 'waiting' | 'paused' | 'complete' | 'error';
  readonly length?: number | undefined;
  readonly storedBytes: number;
  readonly bytesPerSecond: number;
  readonly etaMs?: number | undefined;
  readonly createdAt: number;
  readonly error?: { readonly code: string; readonly message: string } | undefined;
}

export type NativeRequest = {
  [T in NativeType]: { readonly id: number; readonly type: T } & NativeCalls[T]['params'];
}[NativeType];

/** A typed error: a code of the table of errors and its message. */
export interface NativeFailure {
  readonly code: string;
  readonly message: string;
  readonly detail: string;
}

/** From the host. Ids are those of requests, from 1; 0 answers a message that could not be read. */
export type NativeMessage =
  | { readonly id: number; readonly result: object }
  | { readonly id: number; readonly error: NativeFailure }
  /** Not an answer: the list has changed. */
  | { readonly event: 'changed' }
  /**
   * The daemon has ended. The host keeps running: the next request starts another daemon, and
   * watchers get `changed` once it is there.
   */
  | { readonly event: 'ended' };
