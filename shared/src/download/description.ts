/**
 * What is known of files that can be downloaded: the exNode of LOCI 2.2, as far as replicas of
 * whole files go. Metalink files are read into it and written from it. Plain JSON.
 *
 * Replicas of parts of files, which exNodes have too, are left out: no description that is in use
 * tells of such ones, and no client would look for them.
 */

import type { Millis } from '../base/clock.ts';
import { MillraceError } from '../base/errors.ts';
import type { Digest, PieceDigests } from './digest.ts';
import { safeFileName } from './file-name.ts';
import { shown } from './shown.ts';
import type { XmlAttribute, XmlElement } from './xml-tree.ts';

/** Priorities go from 1, the best, to this one, which is also that of those without one. */
export const LAST_PRIORITY = 999_999;

const MAX_NAME_CHARS = 1024;
const MAX_FOLDERS = 32;

/** Where the file is to be had. */
export interface Replica {
  /** Absolute, of any scheme. */
  readonly url: string;
  /** 1, the best, to 999999. */
  readonly priority: number;
  /** Country, ISO 3166-1 alpha-2 in lower case. */
  readonly location?: string | undefined;
  /** When the URL stops working. */
  readonly expires?: Millis | undefined;
  readonly attributes?: readonly XmlAttribute[] | undefined;
}

/** Where another description of the file is to be had, such as a torrent. */
export interface Metaurl {
  readonly url: string;
  /** 1, the best, to 999999. */
  readonly priority: number;
  readonly mediaType: string;
  /** Which of the files in that description it is. */
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

/** One file. */
export interface FileDescription {
  /** Name, or path relative to the folder of the download, one that `faultOfFileName` finds no fault with. */
  readonly name: string;
  /** Bytes. */
  readonly size?: number | undefined;
  /** Of the whole file; one per algorithm. */
  readonly digests: readonly Digest[];
  readonly pieces: readonly PieceDigests[];
  /** In the order in which they were written. */
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
  /** Kept for those who can check them; nothing here does. */
  readonly signatures: readonly Signature[];
  /** What is not understood, kept to be written again. */
  readonly extra: readonly XmlElement[];
  readonly attributes?: readonly XmlAttribute[] | undefined;
}

/** Files that are described together. */
export interface Description {
  readonly files: readonly FileDescription[];
  /** The program that wrote it. */
  readonly generator?: string | undefined;
  /** Where it came from; if `dynamic`, newer versions of it are to be had there. */
  readonly origin?: { readonly url: string; readonly dynamic: boolean } | undefined;
  /** Times as written (RFC 3339); nothing depends on them. */
  readonly published?: string | undefined;
  readonly updated?: string | undefined;
  readonly extra: readonly XmlElement[];
  readonly attributes?: readonly XmlAttribute[] | undefined;
}

/** A file of which nothing is known but its name. */
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

/**
 * What is wrong with the name of a file: it must be relative and stay inside its folder (RFC 5854,
 * 4.1.2.1). Undefined if nothing is.
 */
export function faultOfFileName(name: string): string | undefined {
  if (name === '') return 'the file has no name';
  if (name.length > MAX_NAME_CHARS) return `the name has more than ${MAX_NAME_CHARS} characters`;
  if (/[\x00-\x1f\x7f]/.test(name) || !name.isWellFormed()) {
    return 'the name has characters that cannot be in one';
  }
  // What is a separator on one system is a way out of the folder on that system.
  if (name.includes('\\')) return `the name ${shown(name)} has a backslash`;
  if (name.startsWith('/') || /^[A-Za-z]:/.test(name)) return `the name ${shown(name)} is absolute`;
  const parts = name.split('/');
  if (parts.length > MAX_FOLDERS) return `the name has more than ${MAX_FOLDERS} folders`;
  if (parts.some((part) => part === '' || part === '.' || part === '..')) {
    return `the name ${shown(name)} has an empty part, "." or ".."`;
  }
  return undefined;
}

/**
 * The path to save a described file at, relative to the folder of the download: each part of its
 * name made safe.
 *
 * @throws MillraceError `bad-metalink` if the name would leave the folder
 */
export function safePath(name: string): string {
  const fault = faultOfFileName(name);
  if (fault !== undefined) throw new MillraceError('bad-metalink', fault);
  return name.split('/').map(safeFileName).join('/');
}
