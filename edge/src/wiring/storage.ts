/** What a node keeps: chunks in memory and on disk, versions of files, purges, and pins. */

import { Pins } from '../admin/pins.ts';
import { Purges } from '../admin/purges.ts';
import { ChunkMemory } from '../cache/chunk-memory.ts';
import { DiskCache } from '../cache/disk-cache.ts';
import { MemoryCache } from '../cache/memory-cache.ts';
import { PointerCache } from '../cache/pointer-cache.ts';
import type { Config } from '../config.ts';
import type { NodeContext } from './node-context.ts';

export interface Storage {
  readonly purges: Purges;
  readonly pins: Pins;
  /** Undefined where nothing is kept on disk. */
  readonly disk: DiskCache | undefined;
  readonly pointers: PointerCache;
  readonly memory: ChunkMemory;
  readonly cache: MemoryCache;
  /** False while chunks on their way to slow clients take more memory than they may. */
  readonly spare: () => boolean;
  /** Writes out what is still to be written. */
  close(): Promise<void>;
}

/** Chunk memory besides the cache's: for chunks on their way in or out. */
const IN_FLIGHT_BYTES = 32 * 1024 * 1024;

/**
 * Memory that chunks may take which clients are slow to take, besides the cache: above it each
 * transfer holds one, and clients that take nothing are not waited for.
 */
const HELD_BYTES = 256 * 1024 * 1024;

/** @throws Error where the cache's folder cannot be used */
export async function openStorage({ config, log, wallClock }: NodeContext): Promise<Storage> {
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
      : await DiskCache.open({ dir: config.cacheDir, maxBytes: config.cacheDisk, log, isPinned });
  const pointers = new PointerCache(disk, purges);
  pointers.onPointer = ({ version }) => pins.follow(version);
  const memory = new ChunkMemory({
    slotBytes: config.chunkSize,
    keepBytes: config.cacheMemory + IN_FLIGHT_BYTES,
    poison: process.env.MILLRACE_POISON_MEMORY === '1',
  });
  const cache = new MemoryCache(
    config.cacheMemory,
    // With a disk tier it is there that what is pinned stays.
    disk === undefined ? ({ version }) => pins.isPinned(version) : undefined,
  );
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
    spare: () => memory.figures.usedBytes - cache.bytes < HELD_BYTES,
    async close() {
      await disk?.flush();
      await purges.close();
      await pins.close();
    },
  };
}

/** Bytes that pinned files may take: of the tier that keeps them, half unless it is said. */
function pinQuota({ pinQuota, cacheDir, cacheDisk, cacheMemory }: Config): number {
  const tier = cacheDir === undefined ? cacheMemory : cacheDisk;
  return Math.min(tier, pinQuota ?? Math.floor(tier / 2));
}
