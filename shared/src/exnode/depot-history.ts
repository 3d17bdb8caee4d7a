/**
 * History of the depots that a user has used: how fast each took bytes, and how reliably it kept what it
 * promised. Old news counts less from week to week, and far depots that nobody uses are forgotten.
 */

import type { Millis } from '../base/clock.ts';
import type { Findings, ReplicaState } from './findings.ts';

/** Time after which what was seen counts half. */
const HALF_LIFE_MS: Millis = 21 * 86_400_000;
/** Most depots that are remembered. */
export const MAX_REMEMBERED = 256;
/** Most that each side of the account of a depot can weigh: a change shows within some uploads. */
const MAX_WEIGHT = 20;
/** Time within which failures count as one: a depot that is away fails at each question. */
const SAME_FAILURE_MS: Millis = 3_600_000;
/** Time for which a depot that has refused to store something is taken to be full. */
const REFUSES_MS: Millis = 86_400_000;
/** Shortest time over which a rate is taken, and fewest bytes. */
const MIN_RATE_MS: Millis = 500;
const MIN_RATE_BYTES = 1024 * 1024;

/** Weights of failures, beside 1 for each part that was stored. */
const FAILURES = {
  /** It has deleted, damaged or lost bytes before their time was over. */
  lost: 4,
  /** It has failed, or was silent, while it was used. */
  failed: 2,
  /**
   * It has refused to store what it has room for by its network's list. A full depot is no bad one: it
   * is asked last for a day (`REFUSES_MS`), and nothing else follows.
   */
  refused: 0,
  /** Another depot has taken over a part, since this one was slow. */
  slow: 1,
} as const;

export type DepotFailureKind = keyof typeof FAILURES;

/** Something that was seen of a depot. */
export type DepotEvent =
  | { readonly kind: DepotFailureKind }
  /** It has stored a part, of so many bytes; without these, it still has what it stored. @see SeenDepot.rate */
  | { readonly kind: 'kept'; readonly bytes?: number; readonly ms?: Millis };

/** Account of a depot, as it was when something was last seen of it. */
export interface SeenDepot {
  /** Scheme, host and port. */
  readonly origin: string;
  /** Unix milliseconds. */
  readonly at: Millis;
  /** Weights of what it has kept, and of its failures. */
  readonly kept: number;
  readonly failed: number;
  /** Last failure, Unix milliseconds, and its kind. */
  readonly failedAt?: Millis | undefined;
  readonly failure?: DepotFailureKind | undefined;
  /** Last time that it refused to store something and has stored nothing since, Unix milliseconds. */
  readonly refusedAt?: Millis | undefined;
  /** Bytes per second at which it was sent parts; undefined: not known. */
  readonly rate?: number | undefined;
}

/** Judgement on a depot. A full one has refused to store something within a day. */
export type DepotRepute = 'good' | 'new' | 'full' | 'bad';

/**
 * Notes what was seen of a depot.
 *
 * @param seen accounts, each origin once
 * @param now Unix milliseconds
 * @returns the accounts, the one last used first, at most `MAX_REMEMBERED`
 */
export function withEvent(
  seen: readonly SeenDepot[],
  origin: string,
  event: DepotEvent,
  now: Millis,
): SeenDepot[] {
  const before = seen.find((one) => one.origin === origin);
  const others = seen.filter((one) => one !== before);
  const old = before === undefined ? undefined : decayed(before, now);
  const { kept = 0, failed = 0 } = old ?? {};
  const account = { ...old, origin, at: now, kept, failed };
  const next =
    event.kind === 'kept' ? withKept(account, event) : withFailure(account, event.kind, now);
  return [next, ...others].sort((a, b) => b.at - a.at).slice(0, MAX_REMEMBERED);
}

function withKept(account: SeenDepot, event: DepotEvent & { readonly kind: 'kept' }): SeenDepot {
  const { rate } = account;
  const kept = Math.min(MAX_WEIGHT, account.kept + 1);
  // Only what comes with its bytes was stored now: that it still has a part says nothing of its room.
  const refusedAt = event.bytes === undefined ? account.refusedAt : undefined;
  return { ...account, kept, rate: rateOf(rate, event), refusedAt };
}

function withFailure(account: SeenDepot, kind: DepotFailureKind, now: Millis): SeenDepot {
  const { failed, failedAt = -Infinity, failure } = account;
  const isSame = now - failedAt < SAME_FAILURE_MS && failure !== undefined;
  if (kind === 'refused') {
    const last = isSame ? {} : { failedAt: now, failure: kind };
    return { ...account, ...last, refusedAt: now };
  }
  // Of one trouble, the worst of its signs counts.
  const more = FAILURES[kind] - (isSame ? FAILURES[failure] : 0);
  if (more <= 0) return account;
  const sum = Math.min(MAX_WEIGHT, failed + more);
  return { ...account, failed: sum, failedAt: now, failure: kind };
}

/** Takes half of what was known, and half of what is new. */
function rateOf(
  known: number | undefined,
  { bytes = 0, ms = 0 }: { readonly bytes?: number; readonly ms?: Millis },
): number | undefined {
  if (bytes < MIN_RATE_BYTES || ms < MIN_RATE_MS) return known;
  const rate = (1000 * bytes) / ms;
  return known === undefined ? rate : (known + rate) / 2;
}

/** Returns an account as it counts at a time. A clock that was set back changes nothing. */
function decayed(depot: SeenDepot, now: Millis): SeenDepot {
  const part = 2 ** (-Math.max(0, now - depot.at) / HALF_LIFE_MS);
  return { ...depot, at: now, kept: depot.kept * part, failed: depot.failed * part };
}

/** Judges a depot. @param depot undefined: nothing was seen of it @param now Unix milliseconds */
export function reputeOf(depot: SeenDepot | undefined, now: Millis): DepotRepute {
  if (depot === undefined) return 'new';
  const { kept, failed, refusedAt } = decayed(depot, now);
  // A failure months ago, or one among many parts that it has kept, says little.
  if (failed >= 0.5 && failed > kept / 4) return 'bad';
  // A clock that was set back ends it, rather than making it last.
  if (refusedAt !== undefined && refusedAt <= now && now - refusedAt < REFUSES_MS) return 'full';
  return kept >= 0.25 ? 'good' : 'new';
}

/**
 * Orders depots by what was seen of them: full and bad ones last, otherwise those that were much faster
 * before others. Depots of which no rate is known count as fast as the middle one of the others, so that new ones
 * get their turn. Depots that are equal stay in the given order, that of their network's forecasts.
 *
 * @param now Unix milliseconds
 * @returns good and new ones, and those that come last
 */
export function byHistory<D extends { readonly origin: string }>(
  found: readonly D[],
  seen: readonly SeenDepot[],
  now: Millis,
): { readonly usable: readonly D[]; readonly last: readonly D[] } {
  const byOrigin = new Map(seen.map((one) => [one.origin, one]));
  const isLast = ({ origin }: D) => ['full', 'bad'].includes(reputeOf(byOrigin.get(origin), now));
  const usable = found.filter((one) => !isLast(one));
  const rates = usable.flatMap(({ origin }) => byOrigin.get(origin)?.rate ?? []);
  const middle = rates.sort((a, b) => a - b)[Math.floor(rates.length / 2)] ?? 1;
  // Rates of one class are within a factor of two: smaller differences are those of the day.
  const classOf = ({ origin }: D) => {
    const rate = byOrigin.get(origin)?.rate ?? middle;
    return Math.round(Math.log2(Math.max(Number.EPSILON, rate) / middle));
  };
  return {
    usable: usable.toSorted((a, b) => classOf(b) - classOf(a)),
    last: found.filter(isLast),
  };
}

/** Events that the states of replicas are for their depots; undefined: none. */
const EVENTS: Readonly<Record<ReplicaState, DepotEvent['kind'] | undefined>> = {
  ...{ there: 'kept', silent: 'failed', failing: 'failed', expired: undefined },
  ...{ gone: 'lost', short: 'lost', damaged: 'lost' },
};

/**
 * Returns what answers about replicas say of their depots, the worst of each. If no depot has answered,
 * it may be this computer that is cut off, and nothing is said of silent ones.
 */
export function eventsIn(findings: Findings): ReadonlyMap<string, DepotEvent> {
  const worst = new Map<string, DepotEvent['kind']>();
  const weight = (kind: DepotEvent['kind'] | undefined) =>
    kind === undefined || kind === 'kept' ? 0 : FAILURES[kind];
  for (const [{ read }, { state }] of findings) {
    const { origin, pathname } = new URL(read);
    const kind = EVENTS[state];
    // Other places have promised nothing.
    if (kind === undefined || !pathname.startsWith('/-/d/')) continue;
    const before = worst.get(origin);
    if (before === undefined || weight(kind) > weight(before)) worst.set(origin, kind);
  }
  const isOnline = [...worst.values()].some((kind) => kind !== 'failed');
  return new Map(
    [...worst].flatMap(([origin, kind]) =>
      isOnline || kind !== 'failed' ? [[origin, { kind }] as const] : [],
    ),
  );
}
