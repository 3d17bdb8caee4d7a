/** Memory of how one download went: its log, its speed, and its last run. */

import { DIGEST_ALGORITHMS } from '@millrace/shared/base/digest';
import type { NoteValues } from '@millrace/shared/base/notes';
import { LOG_EVENTS, type LogEntry, type SourceView } from '@millrace/shared/bridge/rpc/detail-api';
import { SpeedRing } from '@millrace/shared/download/figures/speed-ring';
import { SOURCE_KINDS } from '@millrace/shared/download/request/source-kinds';
import { readList, tryRead } from '@millrace/shared/schema/read';
import * as z from 'zod';
import type { RunProgress } from '../queue/contract.ts';

const MAX_LOG = 200;
const MAX_TEXT_CHARS = 1000;
/** Cells of the map that are kept of a run that has ended. */
export const KEPT_CELLS = 400;

/** State of a run at its end. */
export interface LastRun {
  readonly sources: readonly SourceView[];
  readonly digests: RunProgress['digests'];
  /** Percentage stored per cell, 0 to 100; `by` has the source that brought most of each cell. */
  readonly stored: readonly number[];
  readonly by: readonly number[];
}

/** Forms of the entries in the database; unreadable parts are left out. */
const entrySchema = z.object({
  seq: z.number().int().min(0),
  at: z.number(),
  event: z.enum(LOG_EVENTS),
  text: z.string().optional(),
  note: z.string().optional(),
  values: z.record(z.string(), z.union([z.string(), z.number()])).optional(),
  code: z.string().optional(),
  retryAt: z.number().optional(),
});
const amount = z.number().min(0);
const sourceSchema = z.object({
  label: z.string(),
  url: z.string(),
  kind: z.enum(SOURCE_KINDS),
  state: z.enum(['trying', 'used', 'resting', 'quarantined']),
  reason: z.string().optional(),
  reasonCode: z.string().optional(),
  rttMs: amount.optional(),
  bytesPerSecond: amount,
  receivedBytes: amount,
  share: amount,
  connections: amount,
  resets: amount.default(0),
});
const lastSchema = z.object({
  sources: z.array(sourceSchema),
  digests: z.array(
    z.object({
      by: z.string(),
      digest: z.object({ algorithm: z.enum(DIGEST_ALGORITHMS), hex: z.string() }),
    }),
  ),
  stored: z.array(z.number().min(0).max(100)),
  by: z.array(z.number().int().min(-1)),
});
const keptSchema = z.object({ log: z.unknown(), last: z.unknown() });

export class DownloadLog {
  readonly speed = new SpeedRing();
  last: LastRun | undefined;
  #log: LogEntry[] = [];
  #seq = 0;

  /**
   * @param kept an earlier result of `toKeep`
   * @param onDamage called for unreadable parts, which are left out
   */
  constructor(kept?: unknown, onDamage: (why: string) => void = () => {}) {
    if (kept === undefined) return;
    const read = tryRead(keptSchema, kept);
    const { items, refused } = readList(entrySchema, read.data?.log);
    // Entries must be numbered in order, because readers ask for the entries after a number.
    this.#log = items.filter(({ seq }, i) => seq > (items[i - 1]?.seq ?? -1)).slice(-MAX_LOG);
    this.#seq = this.#log.at(-1)?.seq ?? 0;
    const last = tryRead(lastSchema.optional(), read.data?.last);
    this.last = last.data;
    if (refused > 0 || this.#log.length < items.length) onDamage('part of its log cannot be read');
    if (!last.success) onDamage('its last run cannot be read');
  }

  get log(): readonly LogEntry[] {
    return this.#log;
  }

  note(entry: Omit<LogEntry, 'seq'>): void {
    const text = entry.text?.slice(0, MAX_TEXT_CHARS);
    const values = entry.values && shortened(entry.values);
    this.#log.push({
      seq: ++this.#seq,
      ...entry,
      ...(text === undefined ? {} : { text }),
      ...(values === undefined ? {} : { values }),
    });
    if (this.#log.length > MAX_LOG) this.#log.shift();
  }

  /** Returns the stored form, which is plain JSON. */
  toKeep(): unknown {
    return { log: this.#log, last: this.last };
  }
}

function shortened(values: NoteValues): NoteValues {
  const short = (value: string | number) =>
    typeof value === 'string' ? value.slice(0, MAX_TEXT_CHARS) : value;
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, short(value)]));
}

/** Makes a summary of a run's current state. */
export function lookAt(progress: RunProgress, cells: number): LastRun {
  const all = progress.sources.reduce((sum, { receivedBytes }) => sum + receivedBytes, 0);
  return {
    sources: progress.sources.map((source) => ({
      ...source,
      bytesPerSecond: Math.round(source.bytesPerSecond),
      ...(source.rttMs === undefined ? {} : { rttMs: Math.round(source.rttMs * 10) / 10 }),
      share: all === 0 ? 0 : source.receivedBytes / all,
    })),
    digests: progress.digests,
    stored: progress.strip(cells).map(percent),
    by: progress.brought(cells),
  };
}

/** Rounds a share to whole percent; only an empty cell gives 0, and only a full one 100. */
function percent(share: number): number {
  if (share <= 0 || share >= 1) return share <= 0 ? 0 : 100;
  return Math.min(99, Math.max(1, Math.round(share * 100)));
}
