/** What is remembered of how one download goes: its log, its speed, and its last run. */

import type { NoteValues } from '@millrace/shared/base/notes';
import type { LogEntry, SourceView } from '@millrace/shared/bridge/detail-api';
import { SpeedRing } from '@millrace/shared/download/speed-ring';
import { tryRead } from '@millrace/shared/schema/read';
import { z } from 'zod';
import type { RunProgress } from './contract.ts';

export const MAX_LOG = 200;
const MAX_TEXT_CHARS = 1000;
/** Cells that are kept of a run that has ended. */
export const KEPT_CELLS = 400;

/** How a run stood when it ended. */
export interface LastRun {
  readonly sources: readonly SourceView[];
  readonly digests: RunProgress['digests'];
  /** 0 to 100 per cell, and who brought most of it. */
  readonly stored: readonly number[];
  readonly by: readonly number[];
}

/** As it is kept in the database; what cannot be read is left out. */
const keptSchema = z.object({
  log: z.array(z.looseObject({ seq: z.number(), at: z.number(), event: z.string() })).max(MAX_LOG),
  last: z
    .object({
      sources: z.array(z.looseObject({ label: z.string() })),
      digests: z.array(z.looseObject({ by: z.string() })),
      stored: z.array(z.number()),
      by: z.array(z.number()),
    })
    .optional(),
});

export class Chapter {
  readonly speed = new SpeedRing();
  last: LastRun | undefined;
  #log: LogEntry[] = [];
  #seq = 0;

  /** @param kept what `toKeep` gave at some time */
  constructor(kept?: unknown) {
    const read = tryRead(keptSchema, kept);
    if (!read.success) return;
    this.#log = read.data.log as unknown as LogEntry[];
    this.#seq = this.#log.at(-1)?.seq ?? 0;
    this.last = read.data.last as LastRun | undefined;
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

  /** Plain JSON. */
  toKeep(): unknown {
    return { log: this.#log, last: this.last };
  }
}

function shortened(values: NoteValues): NoteValues {
  const short = (value: string | number) =>
    typeof value === 'string' ? value.slice(0, MAX_TEXT_CHARS) : value;
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, short(value)]));
}

/** How a run stands. */
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

/** Whole percent; what is not empty or not full does not look so. */
function percent(share: number): number {
  if (share <= 0 || share >= 1) return share <= 0 ? 0 : 100;
  return Math.min(99, Math.max(1, Math.round(share * 100)));
}
