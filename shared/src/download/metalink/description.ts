/**
 * A description of files that can be downloaded: the exNode of LOCI 2.2, limited to replicas of
 * whole files. Metalink files are read into it and written from it. It is plain JSON.
 *
 * Replicas of parts of files, which exNodes also have, are left out: no description format in use
 * has them, and no client would look for them.
 */

import type { Millis } from '../../base/clock.ts';
import type { Digest, PieceDigests } from '../../base/digest.ts';
import type { XmlAttribute, XmlElement } from './xml-tree.ts';

/** Worst priority, also used for replicas without a priority; 1 is the best. */
export const LAST_PRIORITY = 999_999;

/** A URL that serves the file. */
export interface Replica {
  /** Absolute URL, of any scheme. */
  readonly url: string;
  /** 1, the best, to 999999. */
  readonly priority: number;
  /** Country, ISO 3166-1 alpha-2 in lower case. */
  readonly location?: string | undefined;
  /** When the URL stops working, Unix milliseconds. */
  readonly expires?: Millis | undefined;
  readonly attributes?: readonly XmlAttribute[] | undefined;
}

/** A URL that serves another description of the file, such as a torrent. */
export interface Metaurl {
  readonly url: string;
  /** 1, the best, to 999999. */
  readonly priority: number;
  readonly mediaType: string;
  /** Name of the file in that description. */
  readonly name?: string | undefined;
  readonly attributes?: readonly XmlAttribute[] | undefined;
}

export interface Publisher {
  readonly name: string;
  readonly url?: string | undefined;
}

export interface Signature {
  readonly mediaType: string;
  readonly text: string;
}

/** The part of one file in a piece that it shares with other files, or with padding. */
export interface SharedPiece {
  /** Infohash of the torrent and number of the piece: the same for all files that share it. */
  readonly key: string;
  /** SHA-1 of the piece, lower-case hexadecimal. */
  readonly hex: string;
  /** Length of the piece, bytes. */
  readonly bytes: number;
  /** Position of the part in the piece. */
  readonly at: number;
  /** Position of the part in the file. */
  readonly start: number;
  /** Position behind the part in the file. */
  readonly end: number;
  /** Bytes of padding directly before and behind the part, which are zeros (BEP 47). */
  readonly before: number;
  readonly after: number;
}

/** One file. */
export interface FileDescription {
  /** Name, or path relative to the download folder; `faultOfFileName` finds no fault with it. */
  readonly name: string;
  /** Length in bytes. */
  readonly size?: number | undefined;
  /** Digests of the whole file, one per algorithm. */
  readonly digests: readonly Digest[];
  readonly pieces: readonly PieceDigests[];
  /** Pieces of a torrent that the file has in common with others. */
  readonly shared?: readonly SharedPiece[] | undefined;
  /** Replicas in the order in which they were written. */
  readonly replicas: readonly Replica[];
  readonly metaurls: readonly Metaurl[];
  readonly identity?: string | undefined;
  readonly version?: string | undefined;
  readonly description?: string | undefined;
  readonly copyright?: string | undefined;
  readonly logo?: string | undefined;
  readonly publisher?: Publisher | undefined;
  /** Language tags (RFC 5646). */
  readonly languages: readonly string[];
  /** Operating systems, by the names of IANA's registry. */
  readonly os: readonly string[];
  /** Kept for other programs; Millrace does not check them. */
  readonly signatures: readonly Signature[];
  /** Unknown elements, kept to be written again. */
  readonly extra: readonly XmlElement[];
  readonly attributes?: readonly XmlAttribute[] | undefined;
}

/** Files that are described together. */
export interface Description {
  readonly files: readonly FileDescription[];
  /** The program that wrote it. */
  readonly generator?: string | undefined;
  /** URL that the description came from; if `dynamic`, newer versions of it are found there. */
  readonly origin?: { readonly url: string; readonly dynamic: boolean } | undefined;
  /** Times as written (RFC 3339); nothing depends on them. */
  readonly published?: string | undefined;
  readonly updated?: string | undefined;
  readonly extra: readonly XmlElement[];
  readonly attributes?: readonly XmlAttribute[] | undefined;
}

/** Makes the description of a file of which only the name is known. */
export function emptyFile(name: string): FileDescription {
  return {
    name,
    digests: [],
    pieces: [],
    replicas: [],
    metaurls: [],
    languages: [],
    os: [],
    signatures: [],
    extra: [],
  };
}
