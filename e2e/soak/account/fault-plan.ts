/** Plans the faults of a soak and their times in advance, from a random source. */

import type { Millis, Random } from '@millrace/shared/base/clock';

/** All kinds of faults; a plan has every kind once before it repeats any. */
export const FAULT_KINDS = [
  /** SIGKILL of an edge, which is started again with its folders. */
  'kill-edge',
  /** SIGKILL of the daemon, which is started again. */
  'kill-daemon',
  /** The origin replaces a file by another version. */
  'change-file',
  /** SIGKILL of a running command of the command line, which is repeated. */
  'kill-command',
  /** A small disk gets full; its space comes back. */
  'fill-disk',
  /** SIGSTOP of an edge, then SIGCONT. */
  'stop-edge',
  /** The browser ends the background of the extension. */
  'kill-background',
] as const;

export type FaultKind = (typeof FAULT_KINDS)[number];

export interface Fault {
  readonly at: Millis;
  readonly kind: FaultKind;
  /** Index of the edge, file, disk, command or browser that it strikes. */
  readonly target: number;
  /** Duration; for an edge or daemon that is killed, the time until it is started again. */
  readonly forMs: Millis;
}

/** The things that faults may strike, as numbers of each. Kinds without any are left out. */
interface Targets {
  readonly edges: number;
  readonly files: number;
  readonly disks: number;
  readonly commands: number;
  readonly daemons: number;
  readonly browsers: number;
}

/** Shortest and longest time from one fault to the next one. */
const [MIN_GAP_MS, MAX_GAP_MS] = [500, 5000];
/** Shares of the run after which no fault begins, and after which the daemon is not killed. */
const [ALL_UNTIL, DAEMON_UNTIL] = [0.9, 0.5];
/** Shortest and longest duration of each kind. */
const LASTS_MS: Readonly<Record<FaultKind, readonly [min: Millis, max: Millis]>> = {
  'kill-edge': [100, 5000],
  'change-file': [0, 0],
  'kill-command': [0, 0],
  'fill-disk': [1000, 6000],
  'stop-edge': [500, 8000],
  'kill-daemon': [100, 3000],
  'kill-background': [0, 0],
};

/**
 * Plans faults in the order of their times. The first edge is never struck, and the daemon in the
 * first half of the run only, so that each has a long life whose memory can be judged.
 *
 * @param durationMs length of the run
 * @param options `inOrder`: kinds come in the order of their table, not in a random one; `without`: kinds
 *   that do not happen
 */
export function planFaults(
  random: Random,
  targets: Targets,
  durationMs: Millis,
  { inOrder, without }: { readonly inOrder: boolean; readonly without: ReadonlySet<FaultKind> },
): Fault[] {
  const below = (count: number) => Math.floor(random() * count);
  const gap = () => MIN_GAP_MS + random() * (MAX_GAP_MS - MIN_GAP_MS);
  const counts = countsOf(targets);
  const possible = FAULT_KINDS.filter((kind) => counts[kind] > 0 && !without.has(kind));
  const faults: Fault[] = [];
  let left: FaultKind[] = [];
  if (possible.length === 0) return faults;
  for (let at = gap(); at < ALL_UNTIL * durationMs; at += gap()) {
    if (left.length === 0) left = [...possible];
    const kind = left.splice(inOrder ? 0 : below(left.length), 1)[0] as FaultKind;
    const [min, max] = LASTS_MS[kind];
    const isEdge = kind === 'kill-edge' || kind === 'stop-edge';
    const target = below(counts[kind]) + (isEdge ? 1 : 0);
    const forMs = min + random() * (max - min);
    if (kind === 'kill-daemon' && at > DAEMON_UNTIL * durationMs) continue;
    faults.push({ at, kind, target, forMs });
  }
  return faults;
}

function countsOf(targets: Targets): Readonly<Record<FaultKind, number>> {
  const { edges, files, disks, commands, daemons, browsers } = targets;
  const mortal = Math.max(0, edges - 1);
  return {
    'kill-edge': mortal,
    'change-file': files,
    'kill-command': commands,
    'fill-disk': disks,
    'stop-edge': mortal,
    'kill-daemon': daemons,
    'kill-background': browsers,
  };
}
