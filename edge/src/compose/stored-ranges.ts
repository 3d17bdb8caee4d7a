/**
 * Reads ranges of what the depots of this network store: this node's own, and those of others by way
 * of chunks, which all nodes share under the names that readers of single links use.
 */

import { type ByteRange, intersect } from '@millrace/shared/base/byte-range';
import type { Millis } from '@millrace/shared/base/clock';
import { isPassing, MillraceError } from '@millrace/shared/base/errors';
import { chunkRange, SlicePlan } from '@millrace/shared/cdn/chunks/chunk-plan';
import { versionTag } from '@millrace/shared/cdn/chunks/version-tag';
import { depotFileTag, depotFileUrl, depotTagOf } from '@millrace/shared/cdn/depot/depot-file';
import type { Standing } from '@millrace/shared/exnode/block-ways';
import type { ExnodeReplica } from '@millrace/shared/exnode/exnode';
import { type DepotLink, parseDepotTarget } from '@millrace/shared/http/urls/depot-link';
import { LRUCache } from 'lru-cache';
import type { ChunkStore } from '../agent/chunk-store.ts';
import type { DepotFiles } from '../agent/depot-files.ts';
import type { Depot } from '../depot/depot.ts';
import type { ChunkRequest } from '../files/chunk-request.ts';
import type { FileVersion } from '../files/file-version.ts';
import { INGRESS } from '../files/path.ts';

export interface StoredRangesOptions {
  /** This node's own depot, if it has one. */
  readonly depot: Depot | undefined;
  /** Files of other nodes' depots, if there are any that it may ask. */
  readonly files: DepotFiles | undefined;
  /** Chunks of stored files. */
  readonly chunks: ChunkStore;
  readonly chunkBytes: number;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
}

/** Time for which a depot that has failed is asked last, and an allocation that cannot be read. */
const DEPOT_DOUBT_MS: Millis = 10_000;
const ALLOCATION_DOUBT_MS: Millis = 60_000;
/** Most depots and allocations of which that is remembered. */
const MAX_DOUBTS = 10_000;
/** Chunks of one range that are fetched at a time. */
const AT_ONCE = 4;
/** Interval at which a late chunk is asked for again, and progress is told. */
const WATCH_MS: Millis = 100;

export class StoredRanges {
  readonly #options: StoredRangesOptions;
  /** Names of depots and ids of allocations that have failed lately. */
  readonly #doubts: LRUCache<string, true>;
  /** Capabilities of replicas that have been read; null: they are on other servers. */
  readonly #links = new WeakMap<ExnodeReplica, DepotLink | null>();

  constructor(options: StoredRangesOptions) {
    this.#options = options;
    this.#doubts = new LRUCache({ max: MAX_DOUBTS, perf: { now: options.now } });
  }

  /**
   * Returns the capability of a replica in a depot; undefined: it is on another server. The host does not
   * matter, as for clients with a link: id and secret say which allocation it is.
   */
  linkOf(replica: ExnodeReplica): DepotLink | undefined {
    let link = this.#links.get(replica);
    if (link === undefined) {
      const target = parseDepotTarget(new URL(replica.read).pathname);
      link = target?.kind === 'read' ? target : null;
      this.#links.set(replica, link);
    }
    return link ?? undefined;
  }

  /** Returns true for replicas in this node's own depot. */
  isOwn(replica: ExnodeReplica): boolean {
    const link = this.linkOf(replica);
    return link !== undefined && this.#isHere(link);
  }

  #isHere({ id }: Pick<DepotLink, 'id'>): boolean {
    return this.#options.depot?.get(id) !== undefined;
  }

  /** Tells how far a replica can be used. */
  standingOf(replica: ExnodeReplica): Standing {
    const link = this.linkOf(replica);
    if (link === undefined) return 'out';
    const { depot, files } = this.#options;
    const { id } = link;
    const isOwn = this.#isHere(link);
    if (isOwn ? !isReadable(depot, id) : files?.isElsewhere(id) !== true) return 'out';
    if (this.#doubts.has(id) || this.#doubts.has(depotTagOf(id))) return 'doubtful';
    return isOwn || files?.answers(id) === true ? 'good' : 'doubtful';
  }

  /** Notes that bytes of a replica were wrong, or could not be read. */
  doubt(replica: ExnodeReplica, error: MillraceError): void {
    const link = this.linkOf(replica);
    if (link === undefined) return;
    const isOfDepot = isPassing(error.row) && error.code !== 'wrong-digest';
    const [key, ttl] = isOfDepot
      ? [depotTagOf(link.id), DEPOT_DOUBT_MS]
      : [link.id, ALLOCATION_DOUBT_MS];
    this.#doubts.set(key, true, { ttl });
  }

  /**
   * Reads a range of a stored file.
   *
   * @param data filled: as long as the range
   * @param onBytes called with the number of bytes that have come
   * @throws MillraceError as `DepotFiles.find`, `ChunkStore.get`; `wrong-length` if the file is shorter
   */
  async read(
    link: DepotLink,
    range: ByteRange,
    data: Uint8Array,
    signal: AbortSignal,
    onBytes: (count: number) => void = () => {},
  ): Promise<void> {
    const version = await this.#versionOf(link, signal);
    const { length } = version;
    if (range.end > length) {
      throw new MillraceError('wrong-length', `what is stored has ${length} bytes`);
    }
    if (range.start === range.end) return;
    const wanted = this.#isHere(link) ? [range] : this.#chunksOf(range, length);
    // None may write into the memory once it is somebody else's: a failure is told when all have ended.
    const stop = new AbortController();
    const both = AbortSignal.any([signal, stop.signal]);
    const next = async () => {
      for (let chunk = wanted.shift(); chunk !== undefined; chunk = wanted.shift()) {
        const found = await this.#get({ version, range: chunk }, both, onBytes);
        const part = intersect(chunk, range) as ByteRange;
        const bytes = found.data.subarray(part.start - chunk.start, part.end - chunk.start);
        data.set(bytes, part.start - range.start);
        found.release();
      }
    };
    const ended = Array.from({ length: AT_ONCE }, () => next().catch((error) => stop.abort(error)));
    await Promise.all(ended);
    both.throwIfAborted();
  }

  #chunksOf(range: ByteRange, length: number): ByteRange[] {
    const { chunkBytes } = this.#options;
    const plan = new SlicePlan([range], chunkBytes);
    return Array.from({ length: plan.count }, (_, i) =>
      chunkRange(plan.at(i).chunk, chunkBytes, length),
    );
  }

  async #get(request: ChunkRequest, signal: AbortSignal, onBytes: (count: number) => void) {
    const { chunks } = this.#options;
    const bytes = request.range.end - request.range.start;
    let told = 0;
    const tell = (come: number) => {
      if (come > told) onBytes(come - told);
      told = Math.max(told, come);
    };
    const watch = setInterval(() => {
      chunks.hedge(request);
      tell(Math.floor(chunks.share(request, INGRESS) * bytes));
    }, WATCH_MS);
    try {
      const { chunk } = await chunks.get(request, signal);
      tell(bytes);
      return chunk;
    } finally {
      clearInterval(watch);
    }
  }

  async #versionOf(link: DepotLink, signal: AbortSignal): Promise<FileVersion> {
    const { depot, files } = this.#options;
    const { id } = link;
    if (depot !== undefined && this.#isHere(link)) {
      const allocation = depot.find(link);
      return versionOf(id, depot.checkReadable(allocation).length, allocation.head.edition);
    }
    if (files === undefined) throw new MillraceError('no-such-allocation');
    const { length, edition } = await files.find(link, signal, () => {});
    return versionOf(id, length, edition);
  }
}

/** Returns the version of a stored file by which its chunks are named. */
export function versionOf(id: string, length: number, edition?: number): FileVersion {
  const validators = { etag: depotFileTag(id, edition) };
  const tag = versionTag(validators, length) as string;
  return { url: depotFileUrl(id), scope: 'public', length, validators, tag, fields: {} };
}

function isReadable(depot: Depot | undefined, id: string): boolean {
  const allocation = depot?.get(id);
  if (depot === undefined || allocation === undefined) return false;
  try {
    depot.checkReadable(allocation);
    return true;
  } catch {
    return false;
  }
}
