/**
 * A user's request for a download: everything needed to start it, even after a crash. It is plain
 * JSON, so that it can be stored, sent and shown as it is.
 */

import type { ByteRange } from '../../base/byte-range.ts';
import type { Millis } from '../../base/clock.ts';
import type { Digest, PieceDigests } from '../../base/digest.ts';

/** Most URLs of a download. */
export const MAX_URLS = 64;

/** Algorithm that chooses the blocks (LOCI 3.2). */
export type RedundancyMode = 'basic' | 'aggressive' | 'progress';

/** The paper's own algorithm in place of ours, for those who study it (LOCI 3.2). */
export interface LociRules {
  /** Most requests for one block at a time, R in the paper: 1 to 8; 1: no redundancy. */
  readonly copies: number;
  /** Complete blocks after a block, beyond which it is late: P in the paper; aggressive: 0. */
  readonly progress: number;
  /** Length of all blocks but the last, bytes. */
  readonly blockBytes: number;
  /**
   * Bytes of the paper's look-ahead buffer: no block is fetched further on from the first missing
   * byte, or from that of a player, until all before are there. Undefined: no bound.
   */
  readonly lookAheadBytes?: number | undefined;
}

/** The values of LOCI 4.2, with its largest blocks. */
export const LOCI_DEFAULTS: Readonly<Record<RedundancyMode, LociRules>> = {
  basic: { copies: 1, progress: 0, blockBytes: 2 * 1024 * 1024 },
  aggressive: { copies: 3, progress: 0, blockBytes: 2 * 1024 * 1024 },
  progress: { copies: 3, progress: 6, blockBytes: 2 * 1024 * 1024 },
};
/** Bounds of the rules. */
export const LOCI_LIMITS = {
  copies: 8,
  progress: 1000,
  minBlockBytes: 64 * 1024,
  maxBlockBytes: 1024 * 1024 * 1024,
} as const;

/** An exNode as a request has it. */
export interface KeptExnode {
  /** SHA-256 that tells its file from all others, lower-case hexadecimal. */
  readonly root: string;
  /** The document, without its key and without any right to change what is stored. */
  readonly text: string;
  /** Key of an encrypted file, base64url: a secret. */
  readonly key?: string | undefined;
}

/** Most keys of a request, and most signatures. */
export const MAX_KEYS = 4;
/** Longest key or signature, characters. */
export const MAX_KEY_CHARS = 256 * 1024;

/** A file on this disk, parts of which are likely to be those of the wanted one. */
export interface OlderFile {
  /** Absolute path. */
  readonly path: string;
  /** URL of the wanted file's list of blocks, in zsync's format; without it the download fails. */
  readonly zsync?: string | undefined;
  /** True: if no such URL is given, look for a list beside the file. */
  readonly beside: boolean;
  /** True: it is to be replaced, but only by a file that has a known digest. */
  readonly repairs?: boolean | undefined;
  /**
   * Ranges of it that may be wrong, while all others are those of the wanted file at the same
   * positions; undefined: a list of blocks or digests of pieces say which parts are.
   */
  readonly except?: readonly ByteRange[] | undefined;
}

export interface DownloadRequest {
  /** 1 to 64 URLs of the same file, best first. The first one names the download. */
  readonly urls: readonly string[];
  /** Members of `urls` that a list or a description named instead of the user. */
  readonly listed?: readonly string[] | undefined;
  /** Base URLs of edges to download through, best first. */
  readonly edges: readonly string[];
  /** True: edges found on the local network may be asked too, where the daemon looks for them. */
  readonly house?: boolean | undefined;
  /** False: never ask the origins themselves. */
  readonly direct: boolean;
  /** Folder to save in. */
  readonly dir: string;
  /** Name or path of the file, relative to `dir`; undefined: the server names it. */
  readonly file?: string | undefined;
  /** Absolute path of a folder that no link may lead out of. Set for names and folders of lists. */
  readonly within?: string | undefined;
  readonly overwrite: boolean;
  /** Mark of the placeholder file that reserves the name until the download replaces it. */
  readonly held?: string | undefined;
  /**
   * True: the file gets another name (`name.1.ext`) if an unfinished download of another file has
   * its name. Undefined: true if `file` is undefined, else false.
   */
  readonly rename?: boolean | undefined;
  /** Most requests at a time, over all sources; the transfer finds out how many it needs. */
  readonly connections: number;
  /** Most requests at a time to one host. */
  readonly connectionsPerHost: number;
  readonly redundancy: RedundancyMode;
  /** Rules of the paper's algorithm; undefined: ours, with the two values around. */
  readonly loci?: LociRules | undefined;
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
  /** True: if there is no other log-in, take one from the user's netrc file. */
  readonly netrc?: boolean | undefined;
  /** http://, https:// or socks5:// URL; `direct`: none; `system`, undefined: the system's. */
  readonly proxy?: string | undefined;
  /** Length that the file must have, in bytes, if it is known. */
  readonly length?: number | undefined;
  /** Description of the file by its parts: then only the places that it names are asked. */
  readonly exnode?: KeptExnode | undefined;
  /** Digests that the whole file must have. */
  readonly digests: readonly Digest[];
  readonly pieces?: PieceDigests | undefined;
  /** Older version of the file, from which its parts are taken that are still the same. */
  readonly older?: OlderFile | undefined;
  /** True: look beside the file for SHA256SUMS and similar files. */
  readonly sidecars: boolean;
  /**
   * Public keys that the user trusts to sign this file, besides those that come with Millrace: of
   * OpenPGP, armored or in base64, or of minisign. With any, signatures are looked for.
   */
  readonly keys?: readonly string[] | undefined;
  /** Signatures of the whole file: OpenPGP's, armored or in base64, or minisign's. */
  readonly signatures?: readonly string[] | undefined;
  /** Bytes per second; undefined: no limit. */
  readonly limit?: number | undefined;
  /** Longest time each to connect, to wait for an answer, and of silence. */
  readonly timeoutMs: Millis;
  /** How long to continue without a single byte from any source; undefined: for ever. */
  readonly retryForMs?: Millis | undefined;
}

/** Defaults; `urls` and `dir` have none. */
export const REQUEST_DEFAULTS = {
  edges: [],
  direct: true,
  overwrite: false,
  connections: 32,
  connectionsPerHost: 32,
  redundancy: 'progress',
  redundantShare: 0.02,
  headers: {},
  digests: [],
  sidecars: false,
  timeoutMs: 20_000,
} as const satisfies Omit<DownloadRequest, 'urls' | 'dir'>;

/** Returns the URL by which a journal names the file of an exNode. */
export function exnodeUrl(root: string): string {
  return `exnode:${root}`;
}

/** Returns the URLs by which the journal of a request's partial file may name the file. */
export function journalUrls({
  urls,
  exnode,
}: Pick<DownloadRequest, 'urls' | 'exnode'>): readonly string[] {
  return exnode === undefined ? urls : [exnodeUrl(exnode.root)];
}
