/**
 * How much memory a process of the edge may take: the default, and a check of the operator's value.
 */

import { totalmem } from 'node:os';
import type { Config } from '../config/config.ts';
import { LEAST_ROOM_BYTES } from '../config/settings.ts';

const MiB = 1024 * 1024;
/** Besides the cache: the program, connections, and chunks on their way to clients. */
const BESIDES_CACHE_BYTES = 1792 * MiB;
/** The same of one process among several, at least. */
const LEAST_BESIDES_CACHE_BYTES = 512 * MiB;

/** Share of the machine's memory, or of the container's, that is taken by default. */
const MACHINE_SHARE = 0.9;

/**
 * The limit of one process, bytes.
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

/** Memory of the machine, or of the control group where that has less (a container). */
function ownMachineBytes(): number {
  const constrained = process.constrainedMemory();
  return constrained > 0 ? Math.min(totalmem(), constrained) : totalmem();
}
