/**
 * Reads what describes files: a Metalink document, a torrent, or a magnet link, whose torrent is fetched
 * from the web server that the link names.
 */

import { createHash } from 'node:crypto';
import { isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import {
  type FileDescription,
  LAST_PRIORITY,
} from '@millrace/shared/download/metalink/description';
import { isMagnetLink } from '@millrace/shared/download/request/document-name';
import type { HashOf } from '@millrace/shared/download/torrent/merkle';
import type { Torrent } from '@millrace/shared/download/torrent/torrent';
import { fetchDocument } from '../stored/fetch-document.ts';

/** Files, as somebody describes them. */
export interface Described {
  readonly files: readonly FileDescription[];
  /** URLs of files that are the user's own words, and not those of the description. */
  readonly named: ReadonlySet<string>;
  /** True if the files belong together, in a folder of theirs. */
  readonly together: boolean;
}

export interface DescribedOptions {
  /** URL that the document came from, the base of relative URLs in a Metalink. */
  readonly base?: string | undefined;
  /** Further URLs by the user: of the one file, or of a folder or a server with those of a torrent. */
  readonly mirrors?: readonly string[] | undefined;
  /** As in a request: the torrent of a magnet link is fetched through it. */
  readonly proxy?: string | undefined;
  readonly signal: AbortSignal;
}

/** Largest torrent that is fetched, bytes: in base64 the daemon still accepts a message of this size. */
const TORRENT = {
  accept: 'application/x-bittorrent, */*;q=0.5',
  maxBytes: 8 * 1024 * 1024,
};
/** Bytes of a document that are looked at to tell what it is. */
const HEAD_BYTES = 64;

const hashOf: HashOf = (algorithm, bytes) => createHash(algorithm).update(bytes).digest();

/**
 * Reads a description. Its readers are loaded when they are needed: most downloads need none.
 *
 * @param document a document as it was received, or the text of a magnet link
 * @throws MillraceError `bad-metalink`; `no-web-seed` for a torrent or magnet link without a web server;
 *   `checksum-mismatch` if a magnet link leads to another torrent; `bad-option`; as `fetchDocument`
 */
export async function readDescribed(
  document: Uint8Array,
  options: DescribedOptions,
): Promise<Described> {
  const { looksBencoded } = await import('@millrace/shared/download/torrent/bencode');
  if (looksBencoded(document)) {
    const { parseTorrent } = await import('@millrace/shared/download/torrent/torrent');
    return ofTorrent(parseTorrent(document, hashOf, { mirrors: options.mirrors }));
  }
  const head = Buffer.from(document.subarray(0, HEAD_BYTES)).toString('latin1');
  if (isMagnetLink(head)) return readMagnet(Buffer.from(document).toString(), options);
  const { parseMetalink } = await import('@millrace/shared/download/metalink/metalink');
  return withMirrors(parseMetalink(document, options.base).files, options);
}

async function readMagnet(link: string, options: DescribedOptions): Promise<Described> {
  const { parseMagnet, checkInfoHash } = await import('@millrace/shared/download/torrent/magnet');
  const { parseTorrent } = await import('@millrace/shared/download/torrent/torrent');
  const magnet = parseMagnet(link);
  let failure: unknown;
  for (const url of magnet.torrents) {
    try {
      const document = await fetchDocument(TORRENT, url, options.signal, options.proxy, true);
      const { seeds } = magnet;
      const torrent = parseTorrent(document, hashOf, { mirrors: options.mirrors, seeds });
      checkInfoHash(magnet, torrent);
      return ofTorrent(torrent);
    } catch (error) {
      options.signal.throwIfAborted();
      if (!isMillraceError(error)) throw error;
      failure ??= error;
    }
  }
  if (failure !== undefined) throw failure;
  const { file } = magnet;
  const { mirrors = [] } = options;
  if (file.replicas.length + mirrors.length > 0) return withMirrors([file], options);
  throw new MillraceError('no-web-seed', { code: 'magnet-without-server' });
}

function ofTorrent({ files, named }: Torrent): Described {
  return { files, named, together: files.length > 1 };
}

function withMirrors(
  files: readonly FileDescription[],
  { mirrors = [] }: DescribedOptions,
): Described {
  if (mirrors.length > 0 && files.length > 1) {
    throw new MillraceError('bad-option', { code: 'one-describes-several' });
  }
  const further = mirrors.map(replicaAt);
  return {
    files: files.map((file) => ({ ...file, replicas: [...file.replicas, ...further] })),
    named: new Set(mirrors),
    together: false,
  };
}

function replicaAt(url: string) {
  return { url, priority: LAST_PRIORITY };
}
