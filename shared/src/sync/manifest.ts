/**
 * Manifests: the required contents of a folder (WORLDS 4.2, where it is a script). A manifest is a
 * JSON document that is read strictly: an unknown member might be needed to get a file right, so a
 * document with an unknown member is refused as a whole.
 */

import * as z from 'zod';
import { MillraceError } from '../base/errors.ts';
import { MAX_MANIFEST_BYTES, MAX_MANIFEST_FILES, MAX_MANIFEST_PIECES } from '../base/limits.ts';
import { parseOriginUrl } from '../http/urls/prefixed-url.ts';
import { tryRead } from '../schema/read.ts';
import { PathClashes, pathFault } from './sync-path.ts';

/** Digests of the pieces of a file, so that only a wrong piece is fetched again. */
interface SyncPieces {
  /** Length of each piece but the last, in bytes. */
  readonly bytes: number;
  /** SHA-256 of each piece, lower-case hexadecimal. */
  readonly sha256: readonly string[];
}

/** Content that can be fetched. */
export interface SyncContent {
  readonly size: number;
  /** SHA-256, lower-case hexadecimal. */
  readonly sha256: string;
  readonly pieces?: SyncPieces | undefined;
}

export interface SyncFile extends SyncContent {
  /** Relative to the folder, `/` between names. */
  readonly path: string;
  /** Permission bits, three octal digits; only the execute bits are used. */
  readonly mode: string;
  /** When the file was changed, Unix milliseconds. */
  readonly modified: number;
}

export interface Manifest {
  /** URL of the folder, with a final slash. */
  readonly url: string;
  /** A tar archive of all files. */
  readonly archive?: (SyncContent & { readonly path: string }) | undefined;
  /** Folders without files. */
  readonly folders: readonly string[];
  readonly files: readonly SyncFile[];
}

const FORMAT = 'millrace-sync';
const VERSION = 1;

export const EMPTY_SHA256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

const MIN_PIECE_BYTES = 64 * 1024;
const MAX_PIECES_OF_A_FILE = 4096;
/** Latest time, Unix ms: the end of the year 9999, the limit of file systems and touch(1). */
const MAX_TIME = 253_402_300_799_999;

const SHA256 = z.string().regex(/^[0-9a-f]{64}$/);
const PATH = z.string().max(4096);
const CONTENT = {
  size: z
    .int()
    .min(0)
    .max(2 ** 48),
  sha256: SHA256,
  pieces: z
    .strictObject({
      bytes: z
        .int()
        .min(MIN_PIECE_BYTES)
        .max(2 ** 40),
      sha256: z.array(SHA256).min(1).max(MAX_PIECES_OF_A_FILE),
    })
    .optional(),
};
const FILE = z.strictObject({
  path: PATH,
  ...CONTENT,
  mode: z.string().regex(/^[0-7]{3}$/),
  modified: z.int().min(0).max(MAX_TIME),
});
const DOCUMENT = z.strictObject({
  format: z.literal(FORMAT),
  version: z.literal(VERSION),
  url: z.string().max(2048),
  archive: z.strictObject({ path: PATH, ...CONTENT }).optional(),
  folders: z.array(PATH).max(MAX_MANIFEST_FILES),
  files: z.array(FILE).max(MAX_MANIFEST_FILES),
});

/**
 * Reads a manifest.
 *
 * @param windows true if its files will be on Windows
 * @throws MillraceError `bad-manifest`, with the first fault
 */
export function parseManifest(text: string, windows: boolean): Manifest {
  if (text.length > MAX_MANIFEST_BYTES) throw bad('it is too large');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw bad('it is not a complete JSON document');
  }
  const { format, version } = (value ?? {}) as { format?: unknown; version?: unknown };
  if (format !== FORMAT) throw bad('it is not a manifest of Millrace');
  if (version !== VERSION) {
    // String() would run the object's own conversion.
    throw bad(`version ${JSON.stringify(version)?.slice(0, 20)} is not known here`);
  }
  const read = tryRead(DOCUMENT, value);
  if (!read.success) {
    const [issue] = read.error.issues;
    throw bad(`${issue?.path.join('.')}: ${issue?.message}`);
  }
  const { url, archive, folders, files } = read.data;
  return checkManifest({ url, archive, folders, files }, windows);
}

/**
 * Writes a manifest, one file per line, sorted, so that the same folder always gives the same text.
 *
 * @throws MillraceError `bad-manifest` if the manifest could not be read back
 */
export function formatManifest(manifest: Manifest): string {
  const { url, archive, folders, files } = checkManifest(manifest, false);
  const sorted = [...files].sort((a, b) => (a.path < b.path ? -1 : 1));
  const lines = sorted.map(({ path, size, mode, modified, sha256, pieces }) =>
    JSON.stringify({ path, size, mode, modified, sha256, pieces }),
  );
  const head = { format: FORMAT, version: VERSION, url, archive, folders: [...folders].sort() };
  return `${JSON.stringify(head).slice(0, -1)},"files":[\n${lines.join(',\n')}\n]}\n`;
}

/** Returns true if the owner may execute the file. */
export function isExecutable({ mode }: Pick<SyncFile, 'mode'>): boolean {
  return (Number.parseInt(mode, 8) & 0o100) !== 0;
}

/** Checks the rules that span several entries. @throws MillraceError `bad-manifest` */
function checkManifest(manifest: Manifest, windows: boolean): Manifest {
  const url = folderUrl(manifest.url);
  const clashes = new PathClashes();
  const sizes = new Map<string, number>([[EMPTY_SHA256, 0]]);
  let pieces = 0;
  const check = (path: string, fault: string | undefined) => {
    if (fault !== undefined) throw bad(`the path ${JSON.stringify(path.slice(0, 200))}: ${fault}`);
  };
  for (const folder of manifest.folders) {
    check(folder, pathFault(folder, windows) ?? clashes.addFolder(folder));
  }
  const { archive } = manifest;
  if (archive !== undefined) check(archive.path, pathFault(archive.path, false));
  for (const file of manifest.files) {
    check(file.path, pathFault(file.path, windows) ?? clashes.addFile(file.path));
  }
  for (const content of archive === undefined ? manifest.files : [archive, ...manifest.files]) {
    const { path, size, sha256 } = content;
    const known = sizes.get(sha256) ?? size;
    if (known !== size || (size === 0 && sha256 !== EMPTY_SHA256)) {
      check(path, 'its size and its digest contradict each other');
    }
    sizes.set(sha256, size);
    check(path, piecesFault(content));
    pieces += content.pieces?.sha256.length ?? 0;
  }
  if (pieces > MAX_MANIFEST_PIECES) throw bad('it has too many digests of pieces');
  return { ...manifest, url };
}

function piecesFault({ size, pieces }: SyncContent): string | undefined {
  if (pieces === undefined) return undefined;
  const count = Math.ceil(size / pieces.bytes);
  return count === pieces.sha256.length ? undefined : 'it has another number of pieces';
}

function folderUrl(text: string): string {
  let url: URL;
  try {
    url = parseOriginUrl(text);
  } catch (error) {
    throw bad(`its URL: ${(error as Error).message}`);
  }
  if (url.search !== '' || !url.pathname.endsWith('/')) {
    throw bad('its URL is not that of a folder, with a slash at the end');
  }
  return url.href;
}

function bad(detail: string): MillraceError {
  return new MillraceError('bad-manifest', detail);
}
