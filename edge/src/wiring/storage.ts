/** Storage of a node: chunks in memory and on disk, versions of files, purges, and pins. */

import { DiskCache } from '../cache/disk-cache.ts';
import { MemoryCache } from '../cache/memory-cache.ts';
import { Pins } from '../cache/pins.ts';
import { PointerCache } from '../cache/pointer-cache.ts';
import { Purges } from '../cache/purges.ts';
import { INDEX_ENTRY_BYTES } from '../cache/weights.ts';
import type { Config } from '../config/config.ts';
import { ChunkMemory } from '../files/chunk-memory.ts';
import type { NodeContext } from './node-context.ts';

export interface Storage {
  readonly purges: Purges;
  readonly pins: Pins;
  /** Undefined without a disk tier. */
  readonly disk: DiskCache | undefined;
  readonly pointers: PointerCache;
  readonly memory: ChunkMemory;
  readonly cache: MemoryCache;
  /** False while chunks on their way to slow clients take more memory than they may. */
  readonly spare: () => boolean;
  /** Writes all pending records to the disk. */
  close(): Promise<void>;
}

/** Share of the cache's memory that pointers may take, and the least they get. */
const POINTERS_SHARE = 1 / 8;
const LEAST_POINTERS_BYTES = 4 * 1024 * 1024;

/** Spare memory for the index of the disk tier, for small files, besides twice that of chunks. */
const INDEX_SPARE_BYTES = 16 * 1024 * 1024;

/** Chunk memory besides the cache's: for chunks on their way in or out. */
const IN_FLIGHT_BYTES = 32 * 1024 * 1024;

/**
 * Memory besides the cache for chunks that clients are slow to take: above it each transfer holds
 * one chunk, and clients that take nothing are given less time.
 */
const HELD_BYTES = 256 * 1024 * 1024;

/** Opens the storage of a node. @throws Error if the cache's folder cannot be used */
export async function openStorage({
  config,
  log,
  wallClock,
  account,
}: NodeContext): Promise<Storage> {
  const purges = await Purges.open(config.cacheDir, log);
  const pins = await Pins.open({
    dir: config.cacheDir,
    chunkBytes: config.chunkSize,
    quotaBytes: pinQuota(config),
    maxLeaseMs: config.pinMax,
    share: 1 / config.workers,
    log,
    wallClock,
  });
  const isPinned = (path: string) => pins.isPinnedPath(path);
  const disk =
    config.cacheDir === undefined
      ? undefined
      : await DiskCache.open({
          dir: config.cacheDir,
          maxBytes: config.cacheDisk,
          maxIndexBytes: maxIndexBytes(config),
          log,
          isPinned,
        });
  const pointersBytes = config.cacheMemory * POINTERS_SHARE;
  const pointers = new PointerCache(disk, purges, Math.max(LEAST_POINTERS_BYTES, pointersBytes));
  pointers.onPointer = ({ version }) => pins.follow(version);
  const memory = new ChunkMemory({
    slotBytes: config.chunkSize,
    keepBytes: config.cacheMemory + IN_FLIGHT_BYTES,
    mayLend: (bytes) => account.mayLend(bytes),
    poison: process.env.MILLRACE_POISON_MEMORY === '1',
  });
  const cache = new MemoryCache(
    config.cacheMemory,
    // With a disk tier, pinned chunks stay there.
    disk === undefined ? ({ version }) => pins.isPinned(version) : undefined,
    () => Math.min(pointersBytes, pointers.bytes),
  );
  const inFlight = () => memory.lentBytes - cache.dataBytes;
  account.share('cache', () => cache.bytes);
  account.share('pointers', () => pointers.bytes);
  account.share('diskIndex', () => disk?.indexBytes ?? 0);
  account.share('chunksInFlight', inFlight);
  account.idleShare('chunksIdle', () => memory.idleBytes);
  // Data that wait for the disk are counted already, in the cache or in flight.
  account.share('diskWrites', () => disk?.queuedOverheadBytes ?? 0);
  const heldBytes = Math.min(HELD_BYTES, (account.stopBytes - config.cacheMemory) / 4);
  pins.onReleased = () => {
    cache.release();
    disk?.release();
  };
  return {
    purges,
    pins,
    disk,
    pointers,
    memory,
    cache,
    spare: () => inFlight() < heldBytes,
    async close() {
      await disk?.flush();
      await purges.close();
      await pins.close();
    },
  };
}

/** Returns the memory for the index of the disk tier, bytes. */
function maxIndexBytes({ cacheDisk, chunkSize }: Config): number {
  return INDEX_SPARE_BYTES + (2 * cacheDisk * INDEX_ENTRY_BYTES) / chunkSize;
}

/**
 * Returns the number of bytes that pinned files may take of the tier that keeps them; half of it by
 * default.
 */
function pinQuota({ pinQuota, cacheDir, cacheDisk, cacheMemory }: Config): number {
  const tier = cacheDir === undefined ? cacheMemory : cacheDisk;
  return Math.min(tier, pinQuota ?? Math.floor(tier / 2));
}
