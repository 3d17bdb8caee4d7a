/** The layout of a stored file: as lines of text, and as a document for programs. */

import { shownRanges } from '@millrace/shared/base/byte-range';
import type { Millis } from '@millrace/shared/base/clock';
import { formatBytes } from '@millrace/shared/base/units';
import type { ShardOf } from '@millrace/shared/exnode/coded';
import { blockRange, type Exnode } from '@millrace/shared/exnode/exnode';
import type { Finding, Findings, ReplicaState } from '@millrace/shared/exnode/findings';
import { depotOf, type Layout } from '@millrace/shared/exnode/layout';
import { allReplicas, type Listed } from '@millrace/shared/exnode/replicas';
import { counted } from '../text/counted.ts';
import { printable } from '../text/printable.ts';
import type { Meaning, Style } from '../text/style.ts';
import { table } from '../text/table.ts';
import { leaseText } from './edge-text.ts';

export interface ShownLayout {
  readonly exnode: Exnode;
  readonly layout: Layout;
  /** Shards of which no replica counts. */
  readonly lost: readonly ShardOf[];
  /** Answers of the depots; undefined: none was asked. */
  readonly findings: Findings | undefined;
}

const MEANINGS: Readonly<Record<ReplicaState, Meaning>> = {
  ...{ there: 'good', silent: 'held', failing: 'held' },
  ...{ expired: 'bad', gone: 'bad', short: 'bad', damaged: 'bad' },
};

const LABEL_CHARS = 11;
/** Most extents whose lost shards are named. */
const MAX_LOST_LINES = 8;

/** Returns the document for programs. */
export function layoutDocument({ exnode, layout, lost, findings }: ShownLayout): object {
  const { name, size, sha256, root, sealed } = exnode;
  const { extents, mayFail, weakest, missing, expires, completeUntil, depots } = layout;
  return {
    ...{ name, size, sha256, root, encrypted: sealed !== undefined },
    ...{ extents, mayFail, weakest, missing, missingShards: lost.map(shardDocument) },
    ...{ expires: dateOf(expires), completeUntil: dateOf(completeUntil) },
    depots: depots.map((share) => ({ ...share, expires: dateOf(share.expires) })),
    replicas: findings && allReplicas(exnode).map((listed) => replicaDocument(listed, findings)),
  };
}

function shardDocument({ extent: { start, end, data }, index }: ShardOf): object {
  return { start, end, shard: index, kind: index < data ? 'data' : 'parity' };
}

function replicaDocument({ replica, extent, shard }: Listed, findings: Findings): object {
  const { state, error, wrong, expires } = findings.get(replica) as Finding;
  const { code, message } = error ?? {};
  const range = { start: extent?.start, end: extent?.end, shard: shard?.index };
  const told = dateOf(expires ?? replica.expires);
  return { read: replica.read, ...range, state, code, message, wrong, expires: told };
}

/**
 * Returns the lines about a layout.
 *
 * @param now Unix milliseconds
 * @param width columns of the terminal; undefined: no limit
 */
export function layoutText(
  shown: ShownLayout,
  now: Millis,
  width: number | undefined,
  style: Style,
): string[] {
  const { exnode, layout, lost, findings } = shown;
  const { missing, expires, completeUntil } = layout;
  const lines = [style('title', printable(exnode.name))];
  const add = (label: string, value: string) =>
    lines.push(`  ${label.padEnd(LABEL_CHARS)} ${value}`);
  const when = (end: Millis) => `${dateOf(end)}, in ${leaseText(end - now)}`;
  add('size', formatBytes(exnode.size));
  if (exnode.sha256 !== undefined) add('digest', `sha-256=${exnode.sha256}`);
  if (exnode.sealed !== undefined) add('encrypted', 'yes');
  add('extents', `${layout.extents}${codesText(exnode)}`);
  if (missing.length > 0) add('missing', style('bad', `nobody has ${shownRanges(missing)}`));
  else add('may fail', mayFailText(exnode, layout));
  for (const text of lostTexts(lost)) add('missing', style('bad', text));
  if (expires !== undefined) add('first end', when(expires));
  if (completeUntil !== undefined) add('complete', `until ${when(completeUntil)}`);
  if (layout.depots.length > 0) lines.push('', ...depotTable(shown, now, width, style));
  if (findings !== undefined) lines.push(...failureLines(exnode, findings));
  return lines;
}

/** Names the codes of extents, such as ` (4+2 shards)`. */
function codesText({ coded = [] }: Exnode): string {
  const codes = new Set(coded.map(({ data, parity }) => `${data}+${parity}`));
  return codes.size === 0 ? '' : ` (${[...codes].join(', ')} shards)`;
}

/** Names the lost shards of each extent, of the first extents. */
function lostTexts(lost: readonly ShardOf[]): string[] {
  const all = [...Map.groupBy(lost, ({ extent }) => extent)].map(([extent, own]) => {
    const names = own.map(({ index }) => `${index}${index < extent.data ? '' : ' (parity)'}`);
    return `${own.length === 1 ? 'shard' : 'shards'} ${names.join(', ')} of ${shownRanges([extent])}`;
  });
  const more = all.length - MAX_LOST_LINES;
  if (more <= 0) return all;
  return [...all.slice(0, MAX_LOST_LINES), `shards of ${more} more extents`];
}

function mayFailText(exnode: Exnode, { mayFail, weakest, depots }: Layout): string {
  if (weakest === undefined) return 'all depots: the file is empty';
  if (mayFail > 0) return `any ${mayFail} of ${counted(depots.length, 'depot')}`;
  if (exnode.coded !== undefined) return `no depot, without losing ${shownRanges([weakest])}`;
  return `no depot: one alone has ${shownRanges([weakest])}`;
}

function depotTable(
  { exnode, layout: { depots }, findings }: ShownLayout,
  now: Millis,
  width: number | undefined,
  style: Style,
): string[] {
  const states = findings && statesByDepot(exnode, findings);
  const rows = depots.map(({ depot, replicas, bytes, expires }) => [
    depot,
    formatBytes(bytes),
    String(replicas),
    expires === undefined ? '' : leaseText(expires - now),
    stateText(states?.get(depot) ?? []),
  ]);
  const columns = [
    { title: 'DEPOT', cut: 'middle', min: 16 },
    { title: 'HAS', align: 'right' },
    { title: 'REPLICAS', align: 'right' },
    { title: 'ENDS IN' },
    { title: 'STATE' },
  ] as const;
  return table(columns, rows, width, (text, row, column) => {
    const own = states?.get(depots[row]?.depot ?? '') ?? [];
    const worst = own.find((state) => MEANINGS[state] === 'bad') ?? own.find((s) => s !== 'there');
    return column === 4 ? style(MEANINGS[worst ?? 'there'], text) : text;
  });
}

/** Lists the states of the file's replicas at each depot. */
function statesByDepot(exnode: Exnode, findings: Findings): Map<string, ReplicaState[]> {
  const states = new Map<string, ReplicaState[]>();
  for (const { replica, extent } of allReplicas(exnode)) {
    if (extent === undefined) continue;
    const depot = depotOf(replica);
    const own = states.get(depot) ?? [];
    own.push((findings.get(replica) as Finding).state);
    states.set(depot, own);
  }
  return states;
}

/** Writes states: `there`, or `3 there, 1 gone`. */
function stateText(states: readonly ReplicaState[]): string {
  const counted = Map.groupBy(states, (state) => state);
  if (counted.size === 1) return states[0] ?? '';
  return [...counted].map(([state, { length }]) => `${length} ${state}`).join(', ');
}

/** Tells of the first failure of each kind at each depot. */
function failureLines(exnode: Exnode, findings: Findings): string[] {
  const lines = new Map<string, string>();
  for (const { replica, extent } of allReplicas(exnode)) {
    const { state, error, wrong } = findings.get(replica) as Finding;
    if (error === undefined) continue;
    const what = extent === undefined ? 'its copy of the exNode' : shownRanges([extent]);
    const first = wrong && shownRanges([blockRange(exnode, wrong.first)]);
    const blocks = wrong?.blocks === 1 ? 'one block is' : `${wrong?.blocks} blocks are`;
    const why = wrong === undefined ? error.message : `${blocks} wrong, first ${first}`;
    const depot = depotOf(replica);
    const key = `${depot} ${state} ${error.code} ${wrong === undefined ? '' : replica.read}`;
    if (!lines.has(key)) lines.set(key, printable(`${depot}: ${state}: ${what}: ${why}`));
  }
  return lines.size === 0 ? [] : ['', ...lines.values()];
}

function dateOf(end: Millis | undefined): string | undefined {
  return end === undefined ? undefined : new Date(end).toISOString();
}
