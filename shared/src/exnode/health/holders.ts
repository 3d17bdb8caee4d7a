/** How the depots of a file do: judged by their answers, and by what was seen of them before. Pure. */

import type { Millis } from '../../base/clock.ts';
import { reputeOf, type SeenDepot } from '../depot-history.ts';
import type { Exnode } from '../exnode.ts';
import type { Findings, ReplicaState } from '../findings.ts';
import { depotOf } from '../layout.ts';
import { allReplicas, replicaBytes } from '../replicas.ts';

/**
 * States of a depot, the best first. `failing`: it does not give the bytes; `expired`: its time is over;
 * `lost`: it has deleted, cut or damaged what it was to keep.
 */
const HOLDER_STATES = ['good', 'slow', 'silent', 'failing', 'expired', 'lost'] as const;
type HolderState = (typeof HOLDER_STATES)[number];

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

/** A depot is slow whose rate is so many times below the middle one of the others of the file. */
const SLOW = 4;

const STATES: Readonly<Record<ReplicaState, HolderState>> = {
  ...{ there: 'good', silent: 'silent', failing: 'failing', expired: 'expired' },
  ...{ gone: 'lost', short: 'lost', damaged: 'lost' },
};

/**
 * Judges the depots of a file, in the order in which its exNode names them.
 *
 * @param findings answers for all replicas
 * @param seen what was seen of depots
 * @param now Unix milliseconds
 */
export function holdersOf(
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
    const rates = others.flatMap((one) => accounts.get(one)?.rate ?? []);
    const worst = states.reduce((a, b) => (weightOf(b) > weightOf(a) ? b : a), 'good');
    return {
      ...{ depot, state: worst === 'good' && isSlow(account, rates, now) ? 'slow' : worst },
      ...{ spaces: listed.length, readable: readable.length, rate: account?.rate },
      bytes: readable.reduce((sum, one) => sum + replicaBytes(one), 0),
      expires: ends.length === 0 ? undefined : ends.reduce((a, b) => Math.min(a, b)),
    };
  });
}

/** @param others rates of the other depots of the file, bytes per second */
function isSlow(account: SeenDepot | undefined, others: readonly number[], now: Millis): boolean {
  if (account === undefined) return false;
  if (account.failure === 'slow' && reputeOf(account, now) === 'bad') return true;
  const middle = others.toSorted((a, b) => a - b)[Math.floor(others.length / 2)];
  return middle !== undefined && account.rate !== undefined && account.rate * SLOW < middle;
}

function weightOf(state: HolderState): number {
  return HOLDER_STATES.indexOf(state);
}
