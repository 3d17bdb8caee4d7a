/** Everything that the operations of a soak share. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '@millrace/shared/base/clock';
import type { Strike } from '../account/causes.ts';
import type { Ledger } from '../account/ledger.ts';
import type { ChangingFiles } from '../stage/changing-files.ts';
import type { Edges } from '../stage/edges.ts';
import type { RunningCommands } from './commands.ts';

export interface World {
  readonly folder: string;
  readonly files: ChangingFiles;
  readonly edges: Edges;
  readonly commands: RunningCommands;
  readonly ledger: Ledger;
  /** Aborted when the time is over, or the user ends the soak: operations begin nothing new. */
  readonly ended: AbortSignal;
  /** Silence after which an operation counts as hanging, ms. */
  readonly hangMs: number;
}

/** Pauses, less long if the soak ends. */
export async function pause(world: Pick<World, 'ended'>, ms: number): Promise<void> {
  await sleep(ms, undefined, { signal: world.ended }).catch(() => {});
}

/** Returns a whole number from 0 to below `count`. */
export const below = (random: Random, count: number): number => Math.floor(random() * count);

/** Faults that strike whoever asks an edge. */
export const edgeStrikes = (edge: number): Strike[] => [
  { kind: 'kill-edge', target: edge },
  { kind: 'stop-edge', target: edge },
];
