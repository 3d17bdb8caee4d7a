/** Measurements of `npm run bench -- all`, in order: cheap and telling ones first. */

import type { Need } from './needs.ts';

/** A measurement that one command makes. */
export interface Measurement {
  /** Name in --only and --without, and of the files with its figures. */
  readonly name: string;
  /** npm script and its words, without `--out`. */
  readonly command: readonly [script: Script, ...words: string[]];
  readonly title: string;
  /** Page and heading with the figures to compare with. */
  readonly page: string;
  /** Expected time on two cores, minutes. */
  readonly minutes: number;
  /** Programs and rights without which it cannot be made. */
  readonly needs: readonly Need[];
  /** True if it takes `--out`, and writes figures for pictures there. */
  readonly writes: boolean;
  /** Reason why only people can start it, and how; undefined: it runs with the others. */
  readonly byHand?: string;
}

type Script = 'bench' | 'lab' | 'sim';

const FAST = 'e2e/README.md#how-fast';
const BENCHMARKS = 'BENCHMARKS.md';
const CROWD = `${BENCHMARKS}#a-crowd-of-16-nsdi-tables-1-and-2`;
const RESETS = `${BENCHMARKS}#resets-anycast-figure-5`;
const VANISHED = `${BENCHMARKS}#clients-that-vanish-anycast-table-1`;
const LOCI = `${BENCHMARKS}#algorithms-and-replicas-loci-figures-3-to-6`;
const DEPOTS = `${BENCHMARKS}#depots`;
const BUFFERS = `${BENCHMARKS}#buffers-and-tails-worlds-figure-2-table-3`;
const VIRTUAL = `${BENCHMARKS}#networks-in-virtual-time-nsdi-53-54-table-2`;
const TOOLS = `${BENCHMARKS}#todays-tools-side-by-side`;
const SHORT = `${BENCHMARKS}#what-is-not-as-good-as-it-should-be`;

/** Experiments that run in virtual time, and so need no laboratory. */
const IN_VIRTUAL_TIME = ['replicas', 'buffer', 'streaming', 'windows'];

export const MEASUREMENTS: readonly Measurement[] = [
  bench('single', 'One edge and one nginx with its slice module', FAST, 3),
  sim('thin', 'A crowd before a thin origin, by size of chunk', CROWD, 0.5),
  bench('download', '1 GiB with millrace get and with aria2c', FAST, 4, ['aria2c']),
  bench('network', 'Four edges and four nginx caches', FAST, 3),
  bench('fill', 'The first fill of a cache after a start', FAST, 5),
  lab('crowd --only even --runs 1', 'A crowd of 16, in network namespaces', CROWD, 7, ['aria2c']),
  sim('copies --nodes 100 --chunks 8', 'Copies that the origin sends', VIRTUAL, 0.5),
  lab('replicas', 'Downloads from replicas, in virtual time', LOCI, 1),
  lab('paths --runs 1', 'Long and lossy paths', `${BENCHMARKS}#long-and-lossy-paths`, 7, [
    'aria2c',
  ]),
  bench('depot', 'Uploads to a depot, to nginx and to a tus server', DEPOTS, 4),
  bench('tls', 'One edge without TLS, with TLS, and with HTTP/2', FAST, 3, ['h2load']),
  bench('varnish', 'One edge and one Varnish', TOOLS, 3, ['varnishd']),
  bench('decision', 'Whether the extension takes a download', FAST, 0.5),
  lab('buffer', 'Buffers, in virtual time', BUFFERS, 1),
  lab('streaming', 'A player beside a download, in virtual time', LOCI, 1),
  lab('windows', 'Windows, in virtual time', `${BENCHMARKS}#windows-nsdi-figure-9`, 1),
  lab('check', 'How exact the laboratory is here', BENCHMARKS, 2),
  lab('depots', 'A file to depots and back', DEPOTS, 5),
  lab('vanished', 'Clients that vanish', VANISHED, 3),
  lab('anycast', 'Anycast routes that are moved', `${BENCHMARKS}#anycast-routes-anycast-22-33`, 2, [
    'bird',
  ]),
  bench('extension', 'The engine in the extension and the browser itself', FAST, 3, ['chromium']),
  bench('popup', "The extension's popup", SHORT, 2, ['chromium']),
  bench('ui', 'The interface with long lists', FAST, 4, ['chromium']),
  bench('shell', "The app's window with 10,000 entries of history", FAST, 3, ['electron']),
  program('stripes --downloads 50', 'Coded shards whose depots die', DEPOTS, 4),
  program('coding', 'Coding of shards, by processor time', DEPOTS, 0.5),
  program('coded-memory', 'Memory of a download in coded shards', DEPOTS, 2),
  program('memory', "An edge's memory under floods", FAST, 4),
  program('hostile --minutes 3', 'Hostile clients beside honest ones', FAST, 4),
  program('fuzz', 'Random inputs for readers of data of strangers', FAST, 10),
  sim('ahead', 'Chunks that edges hold for slow clients', VIRTUAL, 4),
  sim('retries', 'Chunks that are requested again', `${BENCHMARKS}#retries-nsdi-33-53`, 5),
  sim('order', 'Delivery in and out of order', VIRTUAL, 5),
  sim('churn --nodes 30 --chunks 8', 'Nodes that come and go under downloads', VIRTUAL, 1),
  sim('failures', 'Slow nodes, a network in two parts', VIRTUAL, 5),
  sim('silence', 'Clients that vanish, and clients that only seem to', VANISHED, 5),
  sim('membership', 'Heartbeats', `${BENCHMARKS}#membership-nsdi-42`, 5),
  sim('balance', 'Load per node', VIRTUAL, 4),
  sim('dying', 'Nodes that die at once', VIRTUAL, 6),
  sim('flash', '100,000 clients at 15,000 nodes', VIRTUAL, 8),
  lab('resets --runs 1', 'Routes that change under downloads', RESETS, 17, ['aria2c']),
  lab(
    'chunks --runs 1',
    'Sizes of chunks',
    `${BENCHMARKS}#the-defaults-npm-run--s-lab----chunks-3-runs-quiet`,
    10,
  ),
  lab(
    'nodes',
    'One client and many',
    `${BENCHMARKS}#one-client-and-many-worlds-tables-1-and-2`,
    15,
  ),
  lab('replicas-real', 'Downloads from replicas, in network namespaces', LOCI, 15),
  lab('arrivals', 'A thousand clients behind one line', SHORT, 10),
  lab('resets-grid --runs 1', 'Resets with other round trips, and losses', RESETS, 55, ['aria2c']),
  byHand(
    'push',
    'A folder pushed to hosts over sshd',
    `${BENCHMARKS}#a-folder-for-many-hosts-worlds-42`,
    'it needs root and sshd, and its figures are of a quiet machine',
  ),
  byHand(
    'clients',
    'Clients of public services',
    'edge/PRESETS.md#tried-with-real-clients',
    'it asks public services, which the others leave alone',
  ),
  byHand(
    'cache-tests',
    'The public suite for HTTP caches',
    `${BENCHMARKS}#the-public-suite-for-http-caches`,
    'it needs a clone of the suite: npm run bench -- cache-tests FOLDER',
  ),
  byHand(
    'deltas',
    'A new version of an old file',
    TOOLS,
    'it needs two versions of a file: npm run bench -- deltas --older FILE --wanted FILE',
  ),
  byHand(
    'soak',
    'Everything at once, under faults',
    `${BENCHMARKS}#a-soak`,
    'it takes two hours: npm run bench -- soak',
  ),
];

type Rest = [title: string, page: string, minutes: number, needs?: readonly Need[]];

/** A comparison of `npm run bench`: all of these set up nginx as origin, and read /proc. */
function bench(name: string, ...[title, page, minutes, needs = []]: Rest): Measurement {
  const all: Need[] = ['linux', 'nginx', ...needs];
  return { name, command: ['bench', name], title, page, minutes, needs: all, writes: true };
}

/** A program of `npm run bench` that has options of its own, and writes text only. */
function program(words: string, ...[title, page, minutes, needs = []]: Rest): Measurement {
  return { ...named('bench', words), title, page, minutes, needs, writes: false };
}

function sim(words: string, ...[title, page, minutes, needs = []]: Rest): Measurement {
  return { ...named('sim', words), title, page, minutes, needs, writes: true };
}

function lab(words: string, ...[title, page, minutes, needs = []]: Rest): Measurement {
  const one = named('lab', words);
  const place: Need[] = IN_VIRTUAL_TIME.includes(one.name) ? [] : ['laboratory'];
  return { ...one, title, page, minutes, needs: [...place, ...needs], writes: true };
}

function byHand(name: string, title: string, page: string, reason: string): Measurement {
  const one = named('bench', name);
  return { ...one, title, page, minutes: 0, needs: [], writes: false, byHand: reason };
}

function named(script: Script, words: string): Pick<Measurement, 'name' | 'command'> {
  const [name = '', ...options] = words.split(' ');
  return { name, command: [script, name, ...options] };
}
