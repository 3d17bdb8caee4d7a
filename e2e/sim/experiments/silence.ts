/**
 * Clients that vanish, and clients that only seem to (ANYCAST 4.2, table 1, figure 8): the edge's own
 * judgement over modelled connections that share a line.
 */

import { WatchedLine } from '@millrace/shared/testing/crowded-line';
import type { Settings } from '../main.ts';
import { percent, quantile, type Report } from '../report.ts';

const RUNS = 3;
const CROWD_MS = 40_000;
const LOSSY_MS = 20_000;
const BEFORE_MS = 10_000;
const AFTER_MS = 70_000;
const STEP_MS = 500;
const CROWDED = { mbit: 50, rttMs: 20, queue: 600 };
const LOSSES = [0, 0.01, 0.02, 0.05];

const CUTS = [
  { name: '5 of 20 on a line with room, 20 ms', clients: 20, gone: 5, mbit: 1000, rttMs: 20 },
  { name: '5 of 20 on a line with room, 50 ms', clients: 20, gone: 5, mbit: 1000, rttMs: 50 },
  { name: 'all 50 that fill a line, 50 ms', clients: 50, gone: 50, mbit: 50, rttMs: 50 },
  { name: 'all 1,000 that fill a line, 20 ms', clients: 1000, gone: 1000, mbit: 50, rttMs: 20 },
  { name: '10 of 1,000 that fill a line, 20 ms', clients: 1000, gone: 10, mbit: 50, rttMs: 20 },
];

export function silence({ seed }: Settings): Report {
  const seeds = Array.from({ length: RUNS }, (_, i) => seed + i);
  const spurious: (string | number)[][] = [];
  for (const spreadMs of [50, 5000]) {
    const counts = seeds.map((one) => live({ ...CROWDED, seed: one, clients: 1000, spreadMs }));
    spurious.push([`1,000 within ${spreadMs / 1000} s on 50 Mbit/s`, ...summed(counts, 1000)]);
  }
  for (const loss of LOSSES) {
    const line = { mbit: 100, queue: 400, loss, clients: 100, spreadMs: 1000 };
    const counts = [20, 100].flatMap((rttMs) =>
      seeds.map((one) => live({ ...line, rttMs, seed: one }, LOSSY_MS)),
    );
    spurious.push([`100 on 100 Mbit/s, ${percent(loss)} lost`, ...summed(counts, 100)]);
  }
  return {
    title: 'Clients that vanish, and clients that only seem to',
    tables: [
      {
        caption: 'Clients that were there, and were taken for vanished',
        columns: ['clients', 'connections', 'taken for vanished', 'share'],
        rows: spurious,
      },
      {
        caption: 'Seconds until clients that vanish are found',
        columns: ['clients', 'median', '90%', 'most', 'found', 'of'],
        rows: CUTS.map((cut) => [cut.name, ...cutRow(cut, seed)]),
      },
    ],
    notes: [
      `${RUNS} seeds for the first table: ${CROWD_MS / 1000} s on the full line, ${LOSSY_MS / 1000} s with round trips of 20 and of 100 ms on the others. Paper: 0.16%.`,
      'Connections are a model (`shared/testing/crowded-line.ts`); what is concluded of their state is the edge’s own code.',
    ],
  };
}

type Line = ConstructorParameters<typeof WatchedLine>[0];

function live(options: Line, ms = CROWD_MS): number {
  const line = new WatchedLine(options);
  line.pass(ms);
  return line.spurious;
}

function summed(counts: readonly number[], clients: number): (string | number)[] {
  const sum = counts.reduce((all, count) => all + count, 0);
  return [clients * counts.length, sum, percent(sum / (clients * counts.length))];
}

function cutRow({ name: _, gone, ...line }: (typeof CUTS)[number], seed: number): number[] {
  const { mbit } = line;
  const watched = new WatchedLine({
    ...line,
    queue: Math.max(400, 4 * mbit),
    seed,
    spreadMs: 1000,
  });
  watched.pass(BEFORE_MS);
  watched.vanish(gone);
  for (let ms = 0; ms < AFTER_MS && watched.foundMs.length < gone; ms += STEP_MS) {
    watched.pass(STEP_MS);
  }
  const seconds = watched.foundMs.map((ms) => ms / 1000);
  const shown = [0.5, 0.9, 1].map((share) => quantile(seconds, share));
  return [...shown, seconds.length, gone];
}
