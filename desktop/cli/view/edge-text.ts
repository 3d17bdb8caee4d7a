/** Edges' answers to their administrators, as lines of text. */

import { formatBytes } from '@millrace/shared/base/units';
import { printable } from '../text/printable.ts';
import { table } from '../text/table.ts';

export interface NodeResult {
  readonly name: string;
  readonly ok: boolean;
  readonly code?: string;
  readonly detail?: string;
}

export interface Prefetch {
  readonly id: string;
  readonly url: string;
  readonly state: 'waiting' | 'running' | 'done' | 'failed' | 'stopped';
  readonly totalBytes?: number;
  readonly doneBytes: number;
  readonly fetchedBytes: number;
  /** Absent in answers of older edges. */
  readonly outlivesRestart?: boolean;
  readonly sha256?: string;
  readonly code?: string;
  readonly detail?: string;
}

export interface Pin {
  readonly id: string;
  readonly url: string;
  readonly bytes: number;
  readonly length: number;
  readonly expiresAt: number;
  /** Absent in answers of older edges. */
  readonly network?: boolean;
  readonly held?: boolean;
}

export interface Pins {
  readonly quotaBytes: number;
  readonly usedBytes: number;
  readonly pins: readonly Pin[];
}

/** Members of `/-/status` that are shown. */
export interface EdgeStatus {
  readonly name: string;
  readonly uptimeSeconds: number;
  readonly draining: boolean;
  readonly transfers: { readonly active: number };
  readonly bytes: { readonly toClients: number; readonly fromOrigins: number };
  readonly cache: {
    readonly files: number;
    readonly memory: { readonly bytes: number; readonly maxBytes: number };
    readonly disk: { readonly bytes: number; readonly maxBytes: number } | null;
  };
  readonly administration?: {
    readonly purges: number;
    readonly prefetches: number;
    readonly pins: number;
    readonly pinnedBytes: number;
    readonly pinQuotaBytes: number;
  };
  readonly peers: readonly { readonly name: string; readonly usable: boolean }[];
}

/** Returns one line for each other node's result; none where other nodes were not asked. */
export function nodeLines(nodes: readonly NodeResult[] | undefined): string[] {
  return (nodes ?? []).map(({ name, ok, code, detail = '' }) =>
    ok
      ? `  ${printable(name)}: done`
      : `  ${printable(name)}: ${code} ${printable(detail)}`.trimEnd(),
  );
}

/** Returns one line about the progress of a prefetch. */
export function prefetchLine({ state, doneBytes, totalBytes, code, detail }: Prefetch): string {
  const of = totalBytes === undefined ? '' : ` of ${formatBytes(totalBytes)}`;
  const share = totalBytes ? ` (${Math.floor((100 * doneBytes) / totalBytes)}%)` : '';
  const why = code === undefined ? '' : `: ${code} ${printable(detail ?? '')}`.trimEnd();
  return `${state} ${formatBytes(doneBytes)}${of}${share}${why}`;
}

export function prefetchTable(
  prefetches: readonly Prefetch[],
  width: number | undefined,
): string[] {
  if (prefetches.length === 0) return ['There are no prefetches.'];
  const rows = prefetches.map((one) => [one.id, printable(one.url), prefetchLine(one)]);
  const columns = [
    { title: 'ID' },
    { title: 'FILE', cut: 'middle', min: 20 },
    { title: 'HOW FAR' },
  ] as const;
  const isLost = prefetches.some(
    ({ state, outlivesRestart }) =>
      (state === 'waiting' || state === 'running') && outlivesRestart === false,
  );
  const note = 'A restart of the edge ends them: it has no cache on disk.';
  return [...table(columns, rows, width), ...(isLost ? [note] : [])];
}

/** Returns the table of pins. @param now Unix milliseconds */
export function pinTable(
  { pins, usedBytes, quotaBytes }: Pins,
  now: number,
  width: number | undefined,
): string[] {
  const quota = `${formatBytes(usedBytes)} of ${formatBytes(quotaBytes)} for pins are taken.`;
  if (pins.length === 0) return ['Nothing is pinned.', quota];
  const rows = pins.map(({ id, url, bytes, expiresAt, network, held }) => [
    id,
    printable(url),
    formatBytes(bytes),
    leaseText(expiresAt - now),
    network !== true ? 'this node' : held === false ? 'other nodes: no room here' : 'all nodes',
  ]);
  const columns = [
    { title: 'ID' },
    { title: 'FILE', cut: 'middle', min: 20 },
    { title: 'SIZE', align: 'right' },
    { title: 'ENDS IN' },
    { title: 'WHERE' },
  ] as const;
  return [...table(columns, rows, width), quota];
}

const UNITS = [
  ['d', 86_400],
  ['h', 3600],
  ['min', 60],
] as const;

/** Returns the time left of a lease: `3 d`, `5 h`, `20 s`. */
export function leaseText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  for (const [unit, size] of UNITS) {
    if (seconds >= 2 * size) return `${Math.round(seconds / size)} ${unit}`;
  }
  return `${seconds} s`;
}

export function statusLines(url: string, status: EdgeStatus): string[] {
  const { cache, bytes, administration: a, peers } = status;
  const tier = (of: { bytes: number; maxBytes: number }) =>
    `${formatBytes(of.bytes)} of ${formatBytes(of.maxBytes)}`;
  const usable = peers.filter((peer) => peer.usable).length;
  return [
    `${printable(status.name)} at ${url}${status.draining ? ', draining' : ''}`,
    `  up         ${leaseText(status.uptimeSeconds * 1000)}`,
    `  transfers  ${status.transfers.active}`,
    `  served     ${formatBytes(bytes.toClients)}, ${formatBytes(bytes.fromOrigins)} from origins`,
    `  memory     ${tier(cache.memory)}`,
    ...(cache.disk === null ? [] : [`  disk       ${tier(cache.disk)}`]),
    `  peers      ${usable} of ${peers.length} usable`,
    ...(a === undefined
      ? []
      : [
          `  pins       ${a.pins}, ${formatBytes(a.pinnedBytes)} of ${formatBytes(a.pinQuotaBytes)}`,
          `  prefetches ${a.prefetches} unfinished`,
          `  purges     ${a.purges} remembered`,
        ]),
  ];
}
