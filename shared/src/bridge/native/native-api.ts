/**
 * Messages between the browser extension and the native host, over the browser's native messaging:
 * JSON, one answer to each request. The host passes requests on to the daemon and starts one if
 * none runs; the host itself decides nothing.
 */

/** Name that the host is registered under. */
export const NATIVE_HOST = 'dev.millrace.host';
/** Version of this protocol. The host refuses others and names the one it knows. */
export const NATIVE_VERSION = 1;
/** Longest message from a host that browsers accept. */
export const MAX_TO_BROWSER_BYTES = 1024 * 1024;
/** Longest message from a browser: offers are small, and lists of links are cut up. */
export const MAX_FROM_BROWSER_BYTES = 4 * 1024 * 1024;

/** Ids of our extension, the only one that may talk to the host. */
export const CHROMIUM_EXTENSION_ID = 'fbgofjbfhfaiaophmcbdpombpjckagjn';
export const FIREFOX_EXTENSION_ID = 'millrace@millrace.dev';

/** The extension's `Offer`, in the form that the daemon gets. */
export interface NativeOffer {
  /** UUID. */
  readonly handOff: string;
  readonly url: string;
  readonly finalUrl: string;
  readonly fileName: string;
  /** Absolute path that the browser would save to. A wish: the daemon follows it if it may. */
  readonly path?: string | undefined;
  /** Bytes. */
  readonly length: number;
  readonly etag?: string | undefined;
  readonly lastModified?: string | undefined;
  readonly contentType?: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly edges: readonly string[];
  /** True: only an earlier download may continue with it; none is added. */
  readonly onlyRenews?: boolean | undefined;
}

export type NativeOfferState =
  | { readonly state: 'unknown' | 'proving' | 'proven' }
  | { readonly state: 'committed'; readonly gid: string };

/** Requests by `type`, with their parameters and results. */
export interface NativeCalls {
  /** The first request: all others are refused before it. */
  hello: {
    params: { readonly version: number; readonly browser: string };
    result: {
      readonly version: number;
      /** Version of the daemon, which runs from now on. */
      readonly engine: string;
    };
  };
  /** Answered once the first bytes have been shown to be those of the same file. */
  offer: { params: NativeOffer; result: Record<string, never> };
  commit: { params: { readonly handOff: string }; result: { readonly gid: string } };
  /**
   * Removes every trace of the offer. A committed download that is not complete is removed as well:
   * the browser's own download continues in its place.
   */
  withdraw: { params: { readonly handOff: string }; result: Record<string, never> };
  /**
   * Removes a download with all its data, including the file of a complete one: the browser has the
   * same file, or the user does not want it. A download that does not exist (any more) is not an error.
   */
  discard: {
    params: {
      readonly gid: string;
      /**
       * Absolute path of the browser's own file. If the complete download is that very file, it
       * stays: the browser may have put its own in its place.
       */
      readonly kept?: string | undefined;
    };
    result: Record<string, never>;
  };
  offerState: { params: { readonly handOff: string }; result: NativeOfferState };
  /** Downloads, newest first: a part of the daemon's `DownloadView`. */
  list: {
    params: { readonly limit: number };
    result: { readonly downloads: readonly NativeDownload[] };
  };
  /** On: `changed` is sent when the list has changed, at most four times a second. */
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
    /** In the order of the links; null for a link that could not be added. */
    result: { readonly gids: readonly (string | null)[] };
  };
  /** Opens the app's window, or its page. */
  openApp: { params: Record<string, never>; result: Record<string, never> };
}

export type NativeType = keyof NativeCalls;

/** A download as the extension shows it. */
export interface NativeDownload {
  readonly gid: string;
  readonly name: string;
  /** Status as the daemon names it; the engine in the extension has the same ones. */
  readonly status: 'active' | 'queued' | 'waiting' | 'paused' | 'complete' | 'error';
  /** Length of the file, bytes. */
  readonly length?: number | undefined;
  readonly storedBytes: number;
  readonly bytesPerSecond: number;
  readonly etaMs?: number | undefined;
  /** Unix milliseconds. */
  readonly createdAt: number;
  readonly error?: ShownFailure | undefined;
}

export type NativeRequest = {
  [T in NativeType]: { readonly id: number; readonly type: T } & NativeCalls[T]['params'];
}[NativeType];

/** The failure of a download, as lists show it. */
export interface ShownFailure {
  /** Code of the table of errors. */
  readonly code: string;
  /** With advice for the user. */
  readonly message: string;
  /** True if the source sends the file in one piece: the next run starts from the beginning. */
  readonly onePiece?: boolean | undefined;
}

/** A typed error: a code of the table of errors, with its texts. */
export interface NativeFailure {
  readonly code: string;
  readonly message: string;
  readonly detail: string;
}

/** A message of the host. Ids are those of requests, from 1; 0: the request could not be read. */
export type NativeMessage =
  | { readonly id: number; readonly result: object }
  | { readonly id: number; readonly error: NativeFailure }
  /** Not an answer: the list has changed. */
  | { readonly event: 'changed' }
  /**
   * The daemon has ended. The host keeps running: the next request starts another daemon, and an
   * extension that watches gets `changed` once there is one.
   */
  | { readonly event: 'ended' };
