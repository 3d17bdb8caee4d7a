/** Texts of `millrace sync`. */

import { formatBytes, formatRate } from '@millrace/shared/base/units';
import type { SyncPlan } from '@millrace/shared/sync/plan';
import type { PushOutcome } from '@millrace/shared/sync/push-outcome';
import type { ApplyProgress } from '../../engine/sync/apply.ts';
import { counted } from '../text/counted.ts';
import { printable } from '../text/printable.ts';

export interface AppliedCounts {
  readonly fetched: number;
  readonly copied: number;
  readonly settled: number;
  readonly removed: number;
  readonly unchanged: number;
  readonly receivedBytes: number;
}

/** Returns one line about the work done. */
export function appliedLine(counts: AppliedCounts, failed: number): string {
  const { fetched, copied, settled, removed, unchanged, receivedBytes } = counts;
  const parts = [
    `${counted(fetched, 'file')} fetched (${formatBytes(receivedBytes)} received)`,
    ...(copied > 0 ? [`${copied} copied`] : []),
    ...(settled > 0 ? [`${settled} with another time or execution bit`] : []),
    ...(removed > 0 ? [`${removed} deleted`] : []),
    `${unchanged} unchanged`,
    ...(failed > 0 ? [`${failed} failed`] : []),
  ];
  return parts.join(', ');
}

/** Returns the planned work, one line per step. */
export function planLines(plan: SyncPlan): string[] {
  const { clear, folders, fetch, copy, settle, remove, unchanged, fetchFiles, fetchBytes } = plan;
  const lines = [
    ...clear.map((path) => `delete ${path}`),
    ...folders.map((path) => `make   ${path}/`),
    ...fetch.flatMap(({ places }) =>
      places.map(({ path, size }) => `fetch  ${path} (${formatBytes(size)})`),
    ),
    ...copy.flatMap(({ from, places }) => places.map(({ path }) => `copy   ${path} from ${from}`)),
    ...settle.map(({ path }) => `touch  ${path}`),
    ...remove.map((path) => `delete ${path}`),
  ];
  const summary = `${counted(fetchFiles, 'file')} to fetch (${formatBytes(fetchBytes)}), ${unchanged} unchanged`;
  return [...lines.map(printable), summary];
}

export function publishedLines(published: {
  readonly path: string;
  readonly sha256: string;
  readonly files: number;
  readonly bytes: number;
  readonly script: string | undefined;
}): string[] {
  const { path, sha256, files: count, bytes, script } = published;
  return [
    `${counted(count, 'file')}, ${formatBytes(bytes)}: ${printable(path)}`,
    ...(script === undefined ? [] : [`script: ${printable(script)}`]),
    `sha-256=${sha256}`,
  ];
}

/** Returns one line about a host that `sync push` is through with. */
export function hostLine(name: string, outcome: PushOutcome, ms: number, dryRun: boolean): string {
  const { done, counts, why } = outcome;
  if (!done || counts === undefined) return `${name}: FAILED: ${why}`;
  const fetched = `${counted(counts.fetched, 'file')} ${dryRun ? 'to fetch' : 'fetched'}`;
  return `${name}: ${fetched}, ${counts.unchanged} unchanged, ${(ms / 1000).toFixed(1)} s`;
}

/** Returns the last line of `sync push`. */
export function pushedLine(done: number, hosts: number): string {
  const all = counted(hosts, 'host');
  if (done === hosts) return `${all} done`;
  return `${done} of ${all} done; the same command continues`;
}

/** Returns the progress of `sync push` in one line. */
export function pushText(
  over: number,
  hosts: number,
  running: ReadonlyMap<string, { readonly files: number; readonly of: number } | undefined>,
): string {
  const each = [...running].map(([name, stand]) =>
    stand === undefined ? name : `${name} ${Math.floor((100 * stand.files) / stand.of)}%`,
  );
  return [`${over} of ${counted(hosts, 'host')}`, ...each].join(', ');
}

/** Returns the progress in one line. */
export function progressText(
  { files: done, ofFiles, ofBytes }: ApplyProgress,
  receivedBytes: number,
  ms: number,
): string {
  const rate = formatRate(receivedBytes / Math.max(0.001, ms / 1000));
  return `${done} of ${counted(ofFiles, 'file')}, ${formatBytes(receivedBytes)} of ${formatBytes(ofBytes)}, ${rate}`;
}
