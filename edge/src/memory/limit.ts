/** The memory limit of a process: the setting, or one derived from the cache and the machine. */

import { totalmem } from 'node:os';
import type { Config } from '../config/config.ts';
import { LEAST_ROOM_BYTES } from '../config/settings.ts';

const MiB = 1024 * 1024;
/** Memory besides the cache: the program, connections, and chunks on their way to clients. */
const BESIDES_CACHE_BYTES = 1792 * MiB;
/** Least memory besides the cache for one process among several. */
const LEAST_BESIDES_CACHE_BYTES = 512 * MiB;

/** Share of the memory of the machine or container that is taken by default. */
const MACHINE_SHARE = 0.9;

/**
 * Returns the limit of one process, bytes.
 *
 * @param config of the process: its part of the cache
 * @param machineBytes memory that the machine or the container has
 */
export function memoryLimit(config: Config, machineBytes = ownMachineBytes()): number {
  const { maxMemory, cacheMemory, workers } = config;
  if (maxMemory !== undefined) return maxMemory;
  const besides = Math.max(LEAST_BESIDES_CACHE_BYTES, BESIDES_CACHE_BYTES / workers);
  const most = Math.floor((machineBytes * MACHINE_SHARE) / workers);
  return Math.max(cacheMemory + LEAST_ROOM_BYTES, Math.min(cacheMemory + besides, most));
}

/** Returns the memory of the machine, or of the control group (a container) if that has less. */
function ownMachineBytes(): number {
  const constrained = process.constrainedMemory();
  return constrained > 0 ? Math.min(totalmem(), constrained) : totalmem();
}
