/**
 * `node e2e/bench/history.ts`: measures how long a daemon with 10,000 downloads in its history and
 * 1,000 in its queue takes to start, to list and to search. Checks the answers as well.
 */

import { DaemonProcess } from '../fixtures/programs/daemon.ts';
import { temporaryFolder } from '../fixtures/programs/processes.ts';

const HISTORY = 10_000;
const QUEUE = 1000;
const ROUNDS = 20;
const WORDS = ['debian', 'ubuntu', 'fedora', 'arch', 'film', 'backup', 'dataset', 'nightly'];

/** Writes a list of downloads as `millrace.export` does. */
function list(): string {
  const downloads = Array.from({ length: HISTORY + QUEUE }, (_, i) => {
    const name = `${WORDS[i % WORDS.length]}-${i}-${(i * 2654435761) % 1_000_003}.iso`;
    const request = { urls: [`https://mirror${i % 50}.example/pub/${i % 100}/${name}`] };
    const gid = i.toString(16).padStart(16, '0');
    if (i >= HISTORY) return { gid, state: 'paused', request };
    const state = i % 10 === 0 ? 'error' : 'complete';
    return { gid, state, createdAt: i, finishedAt: i + 1, length: 1e9, name, request };
  });
  return JSON.stringify({ millrace: 'downloads', format: 1, downloads });
}

async function timed<T>(work: () => Promise<T>): Promise<{ ms: number; result: T }> {
  const from = performance.now();
  const result = await work();
  return { ms: performance.now() - from, result };
}

/** Measures the median and longest time of some rounds, without the first. */
async function rounds(work: () => Promise<{ total: number }>, total: number) {
  await work();
  const times: number[] = [];
  for (let i = 0; i < ROUNDS; i++) {
    const { ms, result } = await timed(work);
    if (result.total !== total) throw new Error(`${result.total} were found, not ${total}`);
    times.push(ms);
  }
  times.sort((a, b) => a - b);
  return { median: times[ROUNDS / 2] as number, worst: times.at(-1) as number };
}

async function main(): Promise<void> {
  const folder = await temporaryFolder();
  let daemon = await DaemonProcess.start(folder.path);
  try {
    const text = list();
    const imported = await timed(() => daemon.call('millrace.import', { text }));
    await daemon.stop();
    const started = await timed(() => DaemonProcess.start(folder.path));
    daemon = started.result;
    const all = HISTORY + QUEUE;
    const call = (method: 'list' | 'search', params: object) => () =>
      daemon.call(`millrace.${method}`, params);
    const cases = [
      ['list, first 100', call('list', {}), all],
      ['list, 100 from the middle', call('list', { offset: 6000 }), all],
      ['list of failures', call('list', { status: ['error'] }), HISTORY / 10],
      ['search, one word, one in eight', call('search', { text: 'fedora' }), all / 8],
      ['search, every one', call('search', { text: 'mirror .iso' }), all],
      ['search, one', call('search', { text: '-4321-' }), 1],
      ['search, two letters', call('search', { text: 'zz' }), 0],
    ] as const;
    const rows = [
      ['import of all', `${Math.round(imported.ms)} ms`, ''],
      ['start, from the command to the address', `${Math.round(started.ms)} ms`, ''],
    ];
    for (const [name, work, total] of cases) {
      const { median, worst } = await rounds(work, total);
      rows.push([name, `${median.toFixed(1)} ms`, `${worst.toFixed(1)} ms`]);
    }
    const head = [`${HISTORY} in the history, ${QUEUE} in the queue`, 'median', 'worst'];
    for (const cells of [head, ['---', '---', '---'], ...rows]) {
      process.stdout.write(`| ${cells.join(' | ')} |\n`);
    }
  } finally {
    await daemon.stop();
    await folder.remove();
  }
}

await main();
