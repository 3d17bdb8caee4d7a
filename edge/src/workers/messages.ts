/** Messages between the processes of one edge, over Node's own channel between them. */

import type { AnycastState } from '../anycast/announcer.ts';
import type { Command } from '../cache/commands.ts';
import type { TakenBytes } from '../figures/download-counter.ts';
import type { MetricsFormat } from '../figures/metrics-text.ts';

/** Addresses at which an edge listens, to show to people. */
export interface Addresses {
  /** For clients. */
  readonly address: string;
  /** For administrators, if that is another. */
  readonly admin: string | undefined;
  /** For resolvers; undefined without a zone. */
  readonly dns: readonly string[] | undefined;
}

/** Questions about an edge. */
export type What = 'status' | MetricsFormat | 'dashboard' | 'refusals' | 'command';

/** From a worker to the supervisor. */
export type FromWorker =
  /** The worker listens: at the address for clients, and at one of its own for other nodes. */
  | { readonly type: 'listening'; readonly addresses: Addresses; readonly inside: string }
  /** The worker wants the status or figures of the whole edge, or a command to all workers. */
  | {
      readonly type: 'collect';
      readonly what: What;
      readonly id: number;
      readonly command?: Command;
    }
  /** The worker's own part of an answer, for question `id` of the supervisor. */
  | { readonly type: 'report'; readonly id: number; readonly part: unknown }
  | { readonly type: 'drain'; readonly draining: boolean }
  /** Bytes that clients have taken of files, for the counts of downloads. */
  | { readonly type: 'taken'; readonly taken: readonly TakenBytes[] }
  /** The worker wants the counts of downloads of the latest days. */
  | { readonly type: 'downloads'; readonly id: number; readonly days: number };

/** From the supervisor to a worker. */
export type FromSupervisor =
  /** Addresses of all workers. */
  | { readonly type: 'nodes'; readonly urls: readonly string[] }
  /** Answer to a worker's question: JSON, or the text of the figures. */
  | { readonly type: 'collected'; readonly id: number; readonly text: string }
  | {
      readonly type: 'report';
      readonly what: What;
      readonly id: number;
      readonly command?: Command;
    }
  | { readonly type: 'drain'; readonly draining: boolean }
  /** State of the anycast routes of the edge. */
  | { readonly type: 'anycast'; readonly state: AnycastState };

/**
 * Share of the figures' greatest age for which a worker keeps them; the rest is for the supervisor.
 */
export const WORKER_PART_OF_AGE = 1 / 4;
