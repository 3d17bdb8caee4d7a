/** Turns descriptions of files into downloads, and back. */

import type { Millis } from '../../base/clock.ts';
import { byProof, type Digest, isPlain, type PieceDigests } from '../../base/digest.ts';
import { MillraceError } from '../../base/errors.ts';
import { nearest } from '../../base/nearest.ts';
import { safePath } from '../request/file-path.ts';
import { type DownloadRequest, MAX_KEYS, MAX_URLS, REQUEST_DEFAULTS } from '../request/request.ts';
import { isFetchable } from '../request/source-kinds.ts';
import { type Description, emptyFile, type FileDescription, LAST_PRIORITY } from './description.ts';
import { orderReplicas } from './description-merge.ts';

/** A choice of a description's files; an omitted member excludes none. */
export interface FileChoice {
  /** Whole names, or their last parts. */
  readonly names?: readonly string[] | undefined;
  /** An operating system, or the beginning of its name: `linux` includes Linux-x86_64. */
  readonly os?: string | undefined;
  /** A language tag: `de` includes de-AT (RFC 4647, 3.3.1). */
  readonly language?: string | undefined;
}

/**
 * Chooses files of a description, in its order. A file without an operating system or language
 * suits all users.
 *
 * @throws MillraceError `bad-option` if no file has one of the names, or no file is left
 */
export function chooseFiles(description: Description, choice: FileChoice = {}): FileDescription[] {
  const { names, os, language } = choice;
  const all = description.files;
  const lastPart = (name: string) => name.slice(name.lastIndexOf('/') + 1);
  const called = (name: string) => {
    const exact = all.filter((file) => file.name === name);
    return exact.length > 0 ? exact : all.filter((file) => lastPart(file.name) === name);
  };
  for (const name of names ?? []) {
    if (called(name).length > 0) continue;
    const like = nearest(
      name,
      all.flatMap((file) => [file.name, lastPart(file.name)]),
    );
    const hint = like === undefined ? '' : `; did you mean ${like}?`;
    throw new MillraceError('bad-option', { code: 'no-file-called', values: { name, hint } });
  }
  const wanted = new Set(names?.flatMap(called) ?? all);
  const found = all.filter(
    (file) => wanted.has(file) && suits(file.os, os) && suits(file.languages, language),
  );
  if (wanted.size === 0) throw new MillraceError('bad-option', 'no name is given');
  if (found.length === 0) {
    const of = [os, language].filter((text) => text !== undefined).join(' and ');
    throw new MillraceError('bad-option', `there is no file for ${of}`);
  }
  return found;
}

function suits(offered: readonly string[], wanted: string | undefined): boolean {
  if (wanted === undefined || offered.length === 0) return true;
  const prefix = wanted.toLowerCase();
  return offered.some((text) => {
    const tag = text.toLowerCase();
    return tag === prefix || tag.startsWith(`${prefix}-`);
  });
}

/** Settings of a download that are not part of a description. */
export type RequestSettings = Pick<DownloadRequest, 'dir'> &
  Partial<Omit<DownloadRequest, 'urls' | 'digests' | 'pieces'>>;

/**
 * Makes the request to download a described file from its best 64 HTTP replicas that have not
 * expired, best first. The file is saved to the path in its name unless the settings name another.
 *
 * @throws MillraceError `bad-metalink` if none of its replicas can be used; `no-web-seed` if there are none
 */
export function requestOf(
  file: FileDescription,
  settings: RequestSettings,
  now: Millis,
): DownloadRequest {
  const urls = orderReplicas(file.replicas)
    .filter(({ url, expires }) => isFetchable(url) && (expires === undefined || expires > now))
    .slice(0, MAX_URLS)
    .map(({ url }) => url);
  if (urls.length === 0) {
    // Only torrents have files for which they name nobody.
    if (file.replicas.length + file.metaurls.length === 0) {
      throw new MillraceError('no-web-seed', file.name);
    }
    const expired = file.replicas.some(({ url }) => isFetchable(url));
    const why = expired ? 'every URL has expired' : 'none of its URLs is http or https';
    throw new MillraceError('bad-metalink', `${file.name}: ${why}`);
  }
  const pieces = bestPieces(file.pieces);
  const signatures = signaturesFor(file, settings.signatures);
  return {
    ...REQUEST_DEFAULTS,
    ...settings,
    ...(settings.file === undefined ? { within: settings.dir } : {}),
    file: settings.file ?? safePath(file.name),
    urls,
    listed: urls,
    length: file.size,
    digests: file.digests,
    ...(pieces === undefined ? {} : { pieces }),
    ...(signatures.length === 0 ? {} : { signatures }),
  };
}

/** Longest signature in a description, characters. */
const MAX_SIGNATURE_CHARS = 64 * 1024;

/** Returns the user's signatures, or those of the description that can be checked. */
function signaturesFor(file: FileDescription, own: readonly string[] = []): readonly string[] {
  if (own.length > 0) return own;
  return file.signatures
    .filter(({ text }) => text.length <= MAX_SIGNATURE_CHARS)
    .map(({ text }) => text)
    .slice(0, MAX_KEYS);
}

/** Picks the piece digests to check. */
export function bestPieces(pieces: readonly PieceDigests[]): PieceDigests | undefined {
  return [...pieces].sort(byProof)[0];
}

/** Facts of a download, finished or not. */
export interface DownloadFacts {
  /** Its name, or path relative to the download folder. */
  readonly name: string;
  /** Length in bytes. */
  readonly size?: number | undefined;
  /** URLs that hold exactly this file, best first, without edges and quarantined sources. */
  readonly urls: readonly string[];
  readonly digests: readonly Digest[];
  readonly pieces?: PieceDigests | undefined;
}

/**
 * Describes a download for other people. User names and passwords are removed from URLs; secrets in
 * a query cannot be recognised, and stay.
 *
 * @param before the description that the download was started from: its other members are kept, and
 *   its replicas with schemes other than HTTP
 */
export function describeDownload(facts: DownloadFacts, before?: FileDescription): FileDescription {
  const { name, size, digests, pieces } = facts;
  const base = before ?? emptyFile(name);
  const urls = [...new Set(facts.urls.map(withoutCredentials))];
  const replicas = urls.map((url, i) => {
    const known = base.replicas.find((replica) => replica.url === url);
    return { ...known, url, priority: Math.min(i + 1, LAST_PRIORITY) };
  });
  const others = base.replicas.filter(({ url }) => !isFetchable(url));
  return {
    ...base,
    name,
    ...(size === undefined ? {} : { size }),
    digests,
    // Other programs know pieces of no other kind.
    pieces: pieces === undefined || !isPlain(pieces) ? base.pieces.filter(isPlain) : [pieces],
    replicas: [...replicas, ...others],
  };
}

function withoutCredentials(url: string): string {
  const { protocol, host, pathname, search } = new URL(url);
  return `${protocol}//${host}${pathname}${search}`;
}
