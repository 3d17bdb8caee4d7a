/**
 * Files that this edge can put together: exNodes that it has read, each with the name under which its
 * proven blocks are kept in memory. The name changes as soon as something that the exNode names has
 * been deleted or blocked, so that blocks from before are not served any more.
 */

import { createHash } from 'node:crypto';
import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import { SingleFlight } from '@millrace/shared/base/single-flight';
import { formatBytes } from '@millrace/shared/base/units';
import { depotFileId, wholeFileUrl } from '@millrace/shared/cdn/depot/depot-file';
import type { PurgeTarget } from '@millrace/shared/cdn/upkeep/purge-target';
import { MAX_UNIT_BYTES } from '@millrace/shared/exnode/coded';
import type { Exnode, ExnodeReplica } from '@millrace/shared/exnode/exnode';
import { parseExnode } from '@millrace/shared/exnode/exnode-text';
import { coverage, layoutOf } from '@millrace/shared/exnode/layout';
import { usedReplicas } from '@millrace/shared/exnode/places';
import { allReplicas } from '@millrace/shared/exnode/replicas';
import type { DepotLink } from '@millrace/shared/http/urls/depot-link';
import { LRUCache } from 'lru-cache';
import type { StoredRanges } from './stored-ranges.ts';

/** An exNode that a depot of this network stores. */
export interface StoredDocument {
  readonly link: DepotLink;
  readonly length: number;
  /** SHA-256, hexadecimal. */
  readonly sha256: string;
  /** End of its lease, Unix milliseconds. */
  readonly expiresAt: Millis;
}

/** A file that an exNode describes. */
export interface WholeFile {
  readonly id: string;
  /** Name of its blocks in memory. */
  readonly url: string;
  readonly exnode: Exnode;
  /** Time at which bytes will be missing, or nobody knows any more where they are. */
  readonly expiresAt: Millis;
  /** Capabilities of its replicas in this network. */
  readonly links: readonly DepotLink[];
}

interface Entry extends WholeFile {
  readonly sha256: string;
  /** Replicas in this node's own depot that were there. */
  readonly own: readonly ExnodeReplica[];
  /** Time, Unix milliseconds, at which depots were last known to have all of it. */
  wholeAt: Millis;
}

/**
 * Longest exNode that is read. That of the largest file has about 1 MiB of digests; a longer one would
 * hold up other requests while it is parsed.
 */
export const MAX_DOCUMENT_BYTES = 4 * 1024 * 1024;
/** Memory for exNodes that have been read; the least recently used are forgotten. */
const MAX_KEPT_BYTES = 32 * 1024 * 1024;
/** Bytes that an exNode takes for each byte of its text, and beside. */
const BYTES_PER_BYTE = 3;
const ENTRY_BYTES = 4096;
/** Time for which a file that was whole is taken for whole: an exNode may name ten thousand replicas. */
const WHOLE_FOR_MS: Millis = 1000;

export interface WholeFilesOptions {
  readonly ranges: StoredRanges;
  /** Unix milliseconds. */
  readonly wallClock: () => Millis;
}

export class WholeFiles {
  readonly #options: WholeFilesOptions;
  readonly #known = new LRUCache<string, Entry>({ maxSize: MAX_KEPT_BYTES });
  readonly #flights = new SingleFlight<string, Entry>();
  /** Files that are being sent, by the name of their blocks. */
  readonly #inUse = new Map<string, { readonly file: WholeFile; users: number }>();
  #editions = 0;

  constructor(options: WholeFilesOptions) {
    this.#options = options;
  }

  /** Memory of all exNodes that are remembered, bytes. */
  get bytes(): number {
    return this.#known.calculatedSize;
  }

  /**
   * Opens the file that an exNode describes.
   *
   * @throws MillraceError `bad-exnode`; `file-too-large` if its blocks are too large to be proven in
   *   memory; `file-lost` if bytes of it are nowhere in this network; as `StoredRanges.read`
   */
  async open(document: StoredDocument, signal: AbortSignal): Promise<WholeFile> {
    const { link, sha256 } = document;
    let entry = this.#known.get(link.id);
    if (entry?.sha256 !== sha256 || this.#hasLost(entry)) {
      const key = `${link.id} ${sha256}`;
      entry = await this.#flights.run(key, signal, (all) => this.#read(document, all)).result;
    }
    this.#checkWhole(entry);
    const { expiresAt } = document;
    return { ...entry, expiresAt: Math.min(expiresAt, entry.expiresAt) };
  }

  /** Registers a request that sends a file. @returns ends it */
  use(file: WholeFile): () => void {
    const inUse = this.#inUse.get(file.url) ?? { file, users: 0 };
    inUse.users++;
    this.#inUse.set(file.url, inUse);
    return () => {
      if (--inUse.users === 0) this.#inUse.delete(file.url);
    };
  }

  /** Returns the file of a name, while it is being sent. */
  withUrl(url: string): WholeFile | undefined {
    return this.#inUse.get(url)?.file;
  }

  /** Forgets the files that a purge concerns: depots tell by purges that something has ended. */
  onPurge(target: PurgeTarget): void {
    const id =
      target.kind === 'url' || target.kind === 'version' ? depotFileId(target.url) : undefined;
    for (const [key, entry] of this.#known.entries()) {
      const isConcerned = id === undefined || entry.links.some((link) => link.id === id);
      if (isConcerned || key === id) this.#known.delete(key);
    }
  }

  /** Returns true if this node's depot has ended a replica since the exNode was read. */
  #hasLost({ own }: Entry): boolean {
    const { ranges } = this.#options;
    return own.some((replica) => ranges.standingOf(replica) === 'out');
  }

  async #read({ link, length, sha256, expiresAt }: StoredDocument, signal: AbortSignal) {
    const { ranges, wallClock } = this.#options;
    if (length > MAX_DOCUMENT_BYTES) {
      const most = formatBytes(MAX_DOCUMENT_BYTES);
      throw new MillraceError('bad-exnode', `an edge reads none that is longer than ${most}`);
    }
    const bytes = Buffer.alloc(length);
    await ranges.read(link, { start: 0, end: length }, bytes, signal);
    // Another edition of the exNode may have come meanwhile: the next request asks for its digest.
    if (sha256Of(bytes) !== sha256) throw new MillraceError('version-changed', 'of the exNode');
    const exnode = parseExnode(bytes.toString(), sha256Of);
    const { pieceBytes } = exnode.blocks;
    if (pieceBytes > MAX_UNIT_BYTES) {
      const detail = `its blocks have ${formatBytes(pieceBytes)}: take it with "millrace get"`;
      throw new MillraceError('file-too-large', detail);
    }
    const isUsed = usedReplicas(exnode, wallClock());
    const { completeUntil } = layoutOf(
      exnode,
      (replica) => isUsed(replica) && ranges.standingOf(replica) !== 'out',
    );
    const replicas = replicasOf(exnode);
    const links = replicas.flatMap((replica) => ranges.linkOf(replica) ?? []);
    // Copies that are given away may name ends that are over, though leases have been extended.
    const isOver = completeUntil === undefined || completeUntil <= wallClock();
    const entry: Entry = {
      ...{ id: link.id, url: wholeFileUrl(link.id, ++this.#editions), exnode, links, sha256 },
      expiresAt: isOver ? expiresAt : completeUntil,
      own: replicas.filter((one) => ranges.standingOf(one) !== 'out' && ranges.isOwn(one)),
      wholeAt: Number.NEGATIVE_INFINITY,
    };
    this.#known.set(link.id, entry, { size: ENTRY_BYTES + BYTES_PER_BYTE * length });
    return entry;
  }

  /** @throws MillraceError `file-lost` */
  #checkWhole(entry: Entry): void {
    const { ranges, wallClock } = this.#options;
    const { exnode } = entry;
    const now = wallClock();
    if (Math.abs(now - entry.wholeAt) < WHOLE_FOR_MS) return;
    const isUsed = usedReplicas(exnode, now);
    const isThere = (replica: ExnodeReplica) =>
      isUsed(replica) && ranges.standingOf(replica) !== 'out';
    const [first] = coverage(exnode, isThere).missing({ start: 0, end: exnode.size });
    if (first === undefined) {
      entry.wholeAt = now;
      return;
    }
    const what = `no depot of this network has bytes ${first.start}-${first.end - 1}`;
    throw new MillraceError('file-lost', what);
  }
}

/** Lists the replicas of the file, without the copies of the exNode. */
function replicasOf(exnode: Exnode): ExnodeReplica[] {
  return allReplicas(exnode).flatMap(({ replica, extent }) => (extent ? replica : []));
}

function sha256Of(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
