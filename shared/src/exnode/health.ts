/**
 * Health of a file that was sent: which depots hold it, how these do, and how many copies each part has.
 * Judged by what the depots have answered and by what was seen of them before. Pure.
 */

import type { ByteRange } from '../base/byte-range.ts';
import type { Millis } from '../base/clock.ts';
import { reputeOf, type SeenDepot } from './depot-history.ts';
import type { Exnode } from './exnode.ts';
import { counts, type Findings, type ReplicaState } from './findings.ts';
import { depotOf, layoutOf } from './layout.ts';
import { allReplicas, replicaBytes } from './replicas.ts';

/** `lost`: the depot has deleted, cut or damaged what it was to keep; `failing`: it does not give it. */
const HOLDER_STATES = ['good', 'slow', 'silent', 'failing', 'expired', 'lost'] as const;
export type HolderState = (typeof HOLDER_STATES)[number];

/** A depot that an exNode names for bytes of the file. */
export interface Holder {
  /** Scheme, host and port. */
  readonly depot: string;
  /** The worst state of its spaces. */
  readonly state: HolderState;
  /** Spaces that it was to keep for the file, and how many of these can be read. */
  readonly spaces: number;
  readonly readable: number;
  /** Bytes of the spaces that can be read. */
  readonly bytes: number;
  /** First end of a space, Unix milliseconds; undefined: none is known. */
  readonly expires: Millis | undefined;
  /** Bytes per second at which it was sent files; undefined: not known. */
  readonly rate: number | undefined;
}

/** Neighbouring parts of a file with the same number of copies. */
export interface PartCopies extends ByteRange {
  /** Copies that can be read. */
  readonly copies: number;
}

export interface Health {
  readonly holders: readonly Holder[];
  /** Ascending; at most as many as asked for. */
  readonly parts: readonly PartCopies[];
  readonly missingBytes: number;
  /** Depots of which any may fail without a byte missing. */
  readonly mayFail: number;
  /** True if parts have fewer copies than wanted: further ones can be stored elsewhere. */
  readonly lacksCopies: boolean;
}

/** A depot is slow whose rate is so many times below the middle one of the others of the file. */
const SLOW = 4;

const STATES: Readonly<Record<ReplicaState, HolderState>> = {
  ...{ there: 'good', silent: 'silent', failing: 'failing', expired: 'expired' },
  ...{ gone: 'lost', short: 'lost', damaged: 'lost' },
};

/**
 * Judges a stored file.
 *
 * @param findings answers for all replicas
 * @param seen what was seen of depots
 * @param copies copies of each part that are wanted
 * @param maxParts most runs of parts that are told
 * @param now Unix milliseconds
 */
export function healthOf(
  exnode: Exnode,
  findings: Findings,
  {
    seen,
    copies,
    maxParts,
    now,
  }: {
    readonly seen: readonly SeenDepot[];
    readonly copies: number;
    readonly maxParts: number;
    readonly now: Millis;
  },
): Health {
  const isThere = (replica: Parameters<typeof counts>[0]) => counts(replica, findings, now);
  const layout = layoutOf(exnode, isThere);
  const parts: PartCopies[] = [];
  for (const { start, end, replicas } of exnode.extents) {
    const own = new Set(replicas.filter(isThere).map(depotOf)).size;
    const last = parts.at(-1);
    if (last?.copies === own && last.end === start) parts[parts.length - 1] = { ...last, end };
    else parts.push({ start, end, copies: own });
  }
  const missingBytes = layout.missing.reduce((sum, { start, end }) => sum + end - start, 0);
  return {
    holders: holdersOf(exnode, findings, seen, now),
    parts: parts.slice(0, maxParts),
    missingBytes,
    mayFail: layout.mayFail,
    lacksCopies: parts.some((part) => part.copies < copies),
  };
}

function holdersOf(
  exnode: Exnode,
  findings: Findings,
  seen: readonly SeenDepot[],
  now: Millis,
): Holder[] {
  const ofFile = allReplicas(exnode).filter(({ extent }) => extent !== undefined);
  const byDepot = Map.groupBy(ofFile, ({ replica }) => depotOf(replica));
  const accounts = new Map(seen.map((one) => [one.origin, one]));
  return [...byDepot].map(([depot, listed]): Holder => {
    const states = listed.map(({ replica }) => {
      const state = findings.get(replica)?.state;
      return state === undefined ? ('good' as const) : STATES[state];
    });
    const readable = listed.filter((_, i) => states[i] === 'good');
    const ends = listed.flatMap(({ replica }) => {
      return findings.get(replica)?.expires ?? replica.expires ?? [];
    });
    const account = accounts.get(depot);
    const others = [...byDepot.keys()].filter((one) => one !== depot);
    const rates = others.flatMap((one) => accounts.get(one)?.rate ?? []).sort((a, b) => a - b);
    const middle = rates[Math.floor(rates.length / 2)];
    const isSlow =
      (account?.failure === 'slow' && reputeOf(account, now) === 'bad') ||
      (middle !== undefined && account?.rate !== undefined && account.rate * SLOW < middle);
    const worst = states.reduce<HolderState>((a, b) => (weightOf(b) > weightOf(a) ? b : a), 'good');
    return {
      ...{ depot, state: worst === 'good' && isSlow ? 'slow' : worst },
      ...{ spaces: listed.length, readable: readable.length, rate: account?.rate },
      bytes: readable.reduce((sum, one) => sum + replicaBytes(one), 0),
      expires: ends.length === 0 ? undefined : ends.reduce((a, b) => Math.min(a, b)),
    };
  });
}

function weightOf(state: HolderState): number {
  return HOLDER_STATES.indexOf(state);
}
