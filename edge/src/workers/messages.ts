/** Messages between the processes of one edge, over Node's own channel between them. */

import type { Command } from '../cache/commands.ts';

/** Where an edge listens, for people. */
export interface Addresses {
  /** For clients. */
  readonly address: string;
  /** For administrators, where that is another. */
  readonly admin: string | undefined;
}

/** Questions about an edge. */
export type What = 'status' | 'metrics' | 'dashboard' | 'refusals' | 'command';

/** From a worker to the supervisor. */
export type FromWorker =
  /** It listens: at the address for clients, and at a separate one for other nodes. */
  | { readonly type: 'listening'; readonly addresses: Addresses; readonly inside: string }
  /**
   * A client asked it for the status or figures of the whole edge, or to have all workers do
   * something.
   */
  | {
      readonly type: 'collect';
      readonly what: What;
      readonly id: number;
      readonly command?: Command;
    }
  /** Its own part of that, for question `id` of the supervisor. */
  | { readonly type: 'report'; readonly id: number; readonly part: unknown }
  | { readonly type: 'drain'; readonly draining: boolean };

/** From the supervisor to a worker. */
export type FromSupervisor =
  /** Where the other workers are. */
  | { readonly type: 'nodes'; readonly urls: readonly string[] }
  /** Answer to a worker's question: JSON, or the text of the figures. */
  | { readonly type: 'collected'; readonly id: number; readonly text: string }
  | {
      readonly type: 'report';
      readonly what: What;
      readonly id: number;
      readonly command?: Command;
    }
  | { readonly type: 'drain'; readonly draining: boolean };

/**
 * Part of the age that figures may have for which one of several processes keeps its copy; the rest
 * is the supervisor's.
 */
export const WORKER_PART_OF_AGE = 1 / 4;
