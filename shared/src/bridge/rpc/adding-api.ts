/** What the dialog for adding downloads asks the daemon. */

import type { DownloadStatus } from './daemon-api.ts';

/** Names of the algorithms of digests, as the daemon takes them. */
export const DIGEST_NAMES = ['md5', 'sha1', 'sha224', 'sha256', 'sha384', 'sha512'] as const;

export interface AddRequest {
  /** URLs of one and the same file, best first. */
  readonly urls: readonly string[];
  readonly dir?: string;
  readonly file?: string;
  readonly category?: string;
  /** True: through the edges of the settings that are switched on; false: none. */
  readonly useEdges?: boolean;
  /** Edges by name, in place of `useEdges`. */
  readonly edges?: readonly string[];
  /** algorithm: one of DIGEST_NAMES. */
  readonly digests?: readonly { readonly algorithm: string; readonly hex: string }[];
  /** Look beside the file for SHA256SUMS and the like. */
  readonly sidecars?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
  readonly login?: { readonly user: string; readonly password: string };
  readonly proxy?: string;
  /** Bytes per second. */
  readonly limit?: number;
  readonly connections?: number;
  /** -100 to 100, default 0. */
  readonly priority?: number;
  /** Place in the queue, from 0. */
  readonly position?: number;
  readonly paused?: boolean;
  /** Not before this time, Unix milliseconds. */
  readonly startAt?: number;
  /** Replace a file of that name. */
  readonly overwrite?: boolean;
  /** Take another name where one is taken; default true. */
  readonly rename?: boolean;
}

export interface AddManyResult {
  readonly gids: readonly string[];
  /** Those that could not be added; all others were. */
  readonly failed: readonly {
    /** Place in the list of those asked for. */
    readonly index: number;
    readonly code: string;
    readonly message: string;
    readonly detail: string;
  }[];
}

export interface Duplicate {
  readonly url: string;
  /** url: the same one. path: the same but for what comes after "?", as signed links differ. */
  readonly same: 'url' | 'path';
  readonly gid: string;
  readonly name: string;
  readonly status: DownloadStatus;
  readonly path?: string | undefined;
}

export interface FoundLink {
  readonly url: string;
  /** File name as far as the URL tells. */
  readonly name: string;
  readonly category?: string | undefined;
  /** Folder that it would be saved in. */
  readonly dir: string;
  /** The URL is that of a Metalink document, by its name. */
  readonly metalink: boolean;
  readonly duplicate?: Duplicate | undefined;
}

export interface ParsedText {
  readonly links: readonly FoundLink[];
  /** There were more links than are looked at. */
  readonly truncated: boolean;
}

export interface MetalinkFile {
  /** Place in the document, from 0: for `only` of `millrace.addMetalink`. */
  readonly index: number;
  /** Name, or path below the folder. */
  readonly name: string;
  /** Bytes. */
  readonly size?: number | undefined;
  readonly urls: readonly string[];
  readonly digests: readonly { readonly algorithm: string; readonly hex: string }[];
  /** Pieces with a digest each, 0 for none. */
  readonly pieces: number;
  readonly category?: string | undefined;
  readonly dir: string;
  /** False: it has no URL that can be downloaded from. */
  readonly usable: boolean;
  readonly duplicate?: Duplicate | undefined;
}

/** What of a listed download is taken only where the user trusts the list. */
export type DelicateKind =
  | 'folder'
  | 'name'
  | 'overwrite'
  | 'cookie-file'
  | 'netrc'
  | 'proxy'
  | 'headers'
  | 'edges'
  | 'place'
  | 'other';

export interface DelicatePart {
  readonly what: DelicateKind;
  /** The folder, the names of the header fields and the like; never a secret. */
  readonly value: string;
}

/** What one entry of a list would become. */
export interface ImportEntry {
  /** A line of the list, or a number in the JSON. */
  readonly line: number;
  readonly url: string;
  /** As far as it is known before the server has been asked. */
  readonly name: string;
  /** Folder that it would be saved in, absolute. */
  readonly dir: string;
  /** Bytes, where the list says how many. */
  readonly length: number | undefined;
  /** It is only taken into the history. */
  readonly finished: boolean;
  /** Left out of a list that is not trusted, taken of one that is. */
  readonly delicate: readonly DelicatePart[];
}

export interface ImportPreview {
  readonly entries: readonly ImportEntry[];
  readonly skipped: readonly { readonly line: number; readonly reason: string }[];
}
