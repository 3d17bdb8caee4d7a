/** Measures the time the extension needs to decide on a download when all its stores are full. */

import { DEFAULT_SETTINGS, type Settings } from '../src/contract/settings.ts';
import { decide } from '../src/intercept/decision.ts';
import { edgesFor } from '../src/intercept/edges.ts';
import { MAX_REQUESTS, RequestLog } from '../src/intercept/request-log.ts';

const ROUNDS = 20_000;
const LENGTH = 64 * 1024 * 1024;
const GOAL_MS = 5;

/** Settings whose lists have the longest permitted length. */
const settings: Settings = {
  ...DEFAULT_SETTINGS,
  offHosts: Array.from({ length: 1000 }, (_, i) => `off-${i}.example.com`),
  onlyHosts: ['example.org', ...Array.from({ length: 999 }, (_, i) => `only-${i}.example.com`)],
  neverTypes: Array.from({ length: 1000 }, (_, i) => `type${i}`),
  edges: [{ url: 'https://edge.example.net', hosts: ['example.org'] }],
};

const FIELDS = [
  { name: 'Content-Length', value: String(LENGTH) },
  { name: 'ETag', value: '"one"' },
  { name: 'Last-Modified', value: 'Sat, 21 Nov 2026 10:00:00 GMT' },
];

const urlOf = (i: number) => `https://dl-${i}.example.org/pub/file-${i}.iso?version=${i}`;

const downloadOf = (url: string, begunAt: number) => ({
  url,
  finalUrl: url,
  fileName: 'file.iso',
  length: LENGTH,
  begunAt,
  running: true,
  private: false,
  byExtension: false,
  dangerous: false,
});

/** Runs the measurement. @returns the result as a Markdown table */
function measure(): string {
  const log = new RequestLog();
  const now = Date.now();
  for (let i = 0; i < MAX_REQUESTS; i++) {
    const id = String(i);
    log.began(id, 'GET', urlOf(i), now);
    log.answered(id, 200, FIELDS, now);
  }
  const times: number[] = [];
  let taken = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const url = urlOf(round % MAX_REQUESTS);
    const began = performance.now();
    const decided = decide(downloadOf(url, now), log.find(url, now), {
      now,
      settings,
      skipped: false,
      continues: () => false,
    });
    if (decided.take) {
      const requests = [...decided.hops, { url: decided.draft.finalUrl }];
      if (edgesFor(requests, settings, []).edges.length === 1) taken++;
    }
    times.push(performance.now() - began);
  }
  if (taken !== ROUNDS) throw new Error(`${taken} of ${ROUNDS} were taken`);
  const [first = 0] = times;
  times.sort((a, b) => a - b);
  const at = (share: number) => times[Math.min(ROUNDS - 1, Math.floor(share * ROUNDS))] ?? 0;
  const ms = (value: number) => `${value.toFixed(3)} ms`;
  return [
    `${ROUNDS} downloads, ${MAX_REQUESTS} requests remembered, lists of 1000.`,
    '',
    '| the first | median | 99% | longest | goal | |',
    '|---|---|---|---|---|---|',
    `| ${[first, at(0.5), at(0.99), at(1)].map(ms).join(' | ')} | 99% within ${GOAL_MS} ms | ${
      at(0.99) <= GOAL_MS ? 'met' : 'MISSED'
    } |`,
  ].join('\n');
}

console.log(measure());
