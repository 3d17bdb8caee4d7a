/**
 * A user's request for a download: everything needed to start it, also after a crash. Plain JSON,
 * so that it can be stored, sent and shown as it is.
 */

import type { Millis } from '../../base/clock.ts';
import type { Digest, PieceDigests } from '../../base/digest.ts';

/** Algorithm that chooses the blocks (LOCI 3.2). */
export type RedundancyMode = 'basic' | 'aggressive' | 'progress';

export interface DownloadRequest {
  /** URLs of one and the same file, best first, 1 to 64. The first names the download. */
  readonly urls: readonly string[];
  /** Members of `urls` that a list or a description has named, and not the user. */
  readonly listed?: readonly string[] | undefined;
  /** Base URLs of edges to download through, best first. */
  readonly edges: readonly string[];
  /** False: never ask the origins themselves. */
  readonly direct: boolean;
  /** Folder to save in. */
  readonly dir: string;
  /** Name or path of the file, relative to `dir`; undefined: as the server says. */
  readonly file?: string | undefined;
  /** Absolute; no link may lead the file out of this folder. Set for names and folders of lists. */
  readonly within?: string | undefined;
  readonly overwrite: boolean;
  /** Mark of the placeholder file that holds the name during the download, and is replaced. */
  readonly held?: string | undefined;
  /**
   * True: takes another name (`name.1.ext`) if an unfinished download of another file has this one.
   * Undefined: does so exactly if `file` is undefined.
   */
  readonly rename?: boolean | undefined;
  /** Requests at a time, over all sources. */
  readonly connections: number;
  /** Requests at a time to one host. */
  readonly connectionsPerHost: number;
  readonly redundancy: RedundancyMode;
  /** Bytes that may be fetched twice, as a share of the file, 0 to 1. */
  readonly redundantShare: number;
  /** Header fields for the origins: cookies, authorization and referrer among them. */
  readonly headers: Readonly<Record<string, string>>;
  /** Header fields for edges, with facts about the content. */
  readonly edgeHeaders?: Readonly<Record<string, string>> | undefined;
  /** User name and password for the first URL's origin. */
  readonly login?: { readonly user: string; readonly password: string } | undefined;
  /** Path of a file of cookies, as browsers' exporters and curl write it. */
  readonly cookieFile?: string | undefined;
  /** Take a log-in from the user's netrc file where there is no other. */
  readonly netrc?: boolean | undefined;
  /** http://, https:// or socks5:// URL; `direct`: no proxy; undefined: the environment's. */
  readonly proxy?: string | undefined;
  /** Length that the file must have, in bytes, if it is known. */
  readonly length?: number | undefined;
  /** Digests that the whole file must have. */
  readonly digests: readonly Digest[];
  readonly pieces?: PieceDigests | undefined;
  /** Look beside the file for SHA256SUMS and the like. */
  readonly sidecars: boolean;
  /** Bytes per second; undefined: no limit. */
  readonly limit?: number | undefined;
  /** Longest time for each of connecting, answering, and sending nothing. */
  readonly timeoutMs: Millis;
  /** How long to go on without a single byte from any source; undefined: for ever. */
  readonly retryForMs?: Millis | undefined;
}

/** Defaults; `urls` and `dir` have none. */
export const REQUEST_DEFAULTS = {
  edges: [],
  direct: true,
  overwrite: false,
  connections: 8,
  connectionsPerHost: 8,
  redundancy: 'progress',
  redundantShare: 0.02,
  headers: {},
  digests: [],
  sidecars: false,
  timeoutMs: 20_000,
} as const satisfies Omit<DownloadRequest, 'urls' | 'dir'>;
