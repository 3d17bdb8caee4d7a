/**
 * Divides connections among downloads, within a limit for each host and one for all. The
 * connections to a host are divided by max-min fairness (Bertsekas and Gallager, Data Networks,
 * 6.5.2): no download gets more than another that still wants a connection, and connections that
 * some do not want go to the others. If a host has more downloads than connections, they take
 * turns.
 */

import type { Millis } from '../../base/clock.ts';

export interface SlotLimits {
  /** Most connections to one host at a time, 1 or more. */
  readonly perHost: number;
  /** Most connections at a time, 1 or more. */
  readonly total: number;
}

/** Connections that a download has to end, so that others get their share. */
export interface Excess<K> {
  readonly key: K;
  readonly host: string;
  /** 1 or more. */
  readonly count: number;
}

/** Time for which a download keeps its last connection while another download has none. */
export const TURN_MS = 10_000;

interface Claim<K> {
  readonly key: K;
  readonly host: string;
  wanted: number;
  active: number;
  /** Connections that it may have. */
  share: number;
  /** When its share last became 0, or more than 0. */
  since: Millis;
  /** Order of service if not all can be served; lower first. */
  turn: number;
}

export class ConnectionSlots<K> {
  readonly #limits: SlotLimits;
  /** Claims by host, in the order in which they came. */
  readonly #hosts = new Map<string, Map<K, Claim<K>>>();
  #turns = 0;
  #active = 0;

  constructor(limits: SlotLimits) {
    this.#limits = limits;
  }

  /** Connections under way, to all hosts. */
  get active(): number {
    return this.#active;
  }

  /** Counts the connections under way to a host. */
  activeAt(host: string): number {
    let active = 0;
    for (const claim of this.#claimsAt(host)) active += claim.active;
    return active;
  }

  /** Returns how many connections to a host a download may have, including its present ones. */
  share(key: K, host: string): number {
    return this.#hosts.get(host)?.get(key)?.share ?? 0;
  }

  /** Returns true if a download wants a connection to a host and others have all connections. */
  isCrowdedOut(key: K, host: string): boolean {
    const claim = this.#hosts.get(host)?.get(key);
    return claim !== undefined && claim.wanted > 0 && claim.share === 0;
  }

  /**
   * Claims the connections to a host that a download could use at present; replaces its earlier
   * claim.
   *
   * @param wanted 0 or more, including its present connections
   * @returns true if the shares of others may have changed
   */
  claim(key: K, host: string, wanted: number, now: Millis): boolean {
    const claims = this.#hosts.get(host);
    const claim = claims?.get(key);
    if ((claim?.wanted ?? 0) === wanted) return false;
    if (claim !== undefined) {
      claim.wanted = wanted;
      if (wanted === 0 && claim.active === 0) this.#forget(claim);
    } else {
      const turn = ++this.#turns;
      const made = { key, host, wanted, active: 0, share: 0, since: now, turn };
      if (claims === undefined) this.#hosts.set(host, new Map([[key, made]]));
      else claims.set(key, made);
    }
    this.#divide(now);
    return true;
  }

  /** Returns how many more connections a download may open to a host now. */
  room(key: K, host: string): number {
    const claim = this.#hosts.get(host)?.get(key);
    if (claim === undefined) return 0;
    const { perHost, total } = this.#limits;
    // Others may still have more than their share until they have ended the excess.
    const free = Math.min(perHost - this.activeAt(host), total - this.#active);
    return Math.max(0, Math.min(claim.share - claim.active, free));
  }

  /** Takes a connection if there is room. @returns false if there is none */
  take(key: K, host: string): boolean {
    if (this.room(key, host) < 1) return false;
    const claim = this.#hosts.get(host)?.get(key) as Claim<K>;
    claim.active++;
    this.#active++;
    return true;
  }

  /** Notes that a connection has ended. */
  release(key: K, host: string, now: Millis): void {
    const claim = this.#hosts.get(host)?.get(key);
    if (claim === undefined || claim.active === 0) return;
    claim.active--;
    this.#active--;
    // If downloads take turns, this one has had its turn.
    if (claim.active === 0) claim.turn = ++this.#turns;
    if (claim.wanted === 0 && claim.active === 0) this.#forget(claim);
    this.#divide(now);
  }

  /** Notes that a download has ended, and its connections with it. */
  leave(key: K, now: Millis): void {
    for (const claims of this.#hosts.values()) {
      const claim = claims.get(key);
      if (claim === undefined) continue;
      this.#active -= claim.active;
      this.#forget(claim);
    }
    this.#divide(now);
  }

  /**
   * Lists the connections that have to end now: those above a download's share, and the last one of
   * a download whose turn is over while others wait for theirs.
   */
  excess(now: Millis): Excess<K>[] {
    for (const claims of this.#hosts.values()) {
      passTurn(
        [...claims.values()].map((claim) => [claim]),
        now,
        () => ++this.#turns,
      );
    }
    passTurn([...this.#byKey().values()], now, () => ++this.#turns);
    this.#divide(now);
    const excess: Excess<K>[] = [];
    for (const claims of this.#hosts.values()) {
      for (const { key, host, active, share } of claims.values()) {
        if (active > share) excess.push({ key, host, count: active - share });
      }
    }
    return excess;
  }

  /** Downloads that may open a connection now. */
  get withRoom(): K[] {
    const found = new Set<K>();
    for (const [host, claims] of this.#hosts) {
      for (const key of claims.keys()) if (this.room(key, host) > 0) found.add(key);
    }
    return [...found];
  }

  /** True while a download that wants a connection has no share: call `excess` again later. */
  get takesTurns(): boolean {
    for (const claims of this.#hosts.values()) {
      for (const { wanted, share } of claims.values()) if (wanted > 0 && share === 0) return true;
    }
    return false;
  }

  /**
   * Computes all shares. A share that the total takes back from a download is given to others of its
   * host, which the total may allow one: a download that waits for a place among all would otherwise
   * also wait for one at a host where nobody has it.
   */
  #divide(now: Millis): void {
    const most = new Map<Claim<K>, number>();
    let shares = this.#divideHosts(most);
    for (let isTakenBack = true; isTakenBack; ) {
      const before = new Map(shares);
      this.#divideTotal(shares);
      isTakenBack = false;
      for (const [claim, share] of shares) {
        if (share === before.get(claim)) continue;
        most.set(claim, share);
        isTakenBack = true;
      }
      if (isTakenBack) shares = this.#divideHosts(most);
    }
    for (const [claim, share] of shares) {
      if (claim.share > 0 !== share > 0) claim.since = now;
      claim.share = share;
    }
  }

  /** Divides the connections to each host. @param most largest shares, where they are bounded */
  #divideHosts(most: ReadonlyMap<Claim<K>, number>): Map<Claim<K>, number> {
    const shares = new Map<Claim<K>, number>();
    for (const host of this.#hosts.keys()) {
      const claims = this.#claimsAt(host).sort((a, b) => a.turn - b.turn);
      const wanted = claims.map((claim) => Math.min(claim.wanted, most.get(claim) ?? Infinity));
      const divided = fairShares(wanted, this.#limits.perHost);
      for (const [i, claim] of claims.entries()) shares.set(claim, divided[i] as number);
    }
    return shares;
  }

  /** Takes back shares above the total, from the downloads that have most. */
  #divideTotal(shares: Map<Claim<K>, number>): void {
    const byKey = this.#byKey();
    const all = [...byKey.values()].sort((a, b) => firstTurn(a) - firstTurn(b));
    const wanted = all.map((claims) => claims.reduce((sum, c) => sum + (shares.get(c) ?? 0), 0));
    fairShares(wanted, this.#limits.total).forEach((allowed, i) => {
      let left = allowed;
      for (const claim of all[i] as Claim<K>[]) {
        const share = Math.min(left, shares.get(claim) as number);
        shares.set(claim, share);
        left -= share;
      }
    });
  }

  /** Claims of each download. */
  #byKey(): Map<K, Claim<K>[]> {
    const byKey = new Map<K, Claim<K>[]>();
    for (const host of this.#hosts.keys()) {
      for (const claim of this.#claimsAt(host)) {
        const claims = byKey.get(claim.key);
        if (claims === undefined) byKey.set(claim.key, [claim]);
        else claims.push(claim);
      }
    }
    return byKey;
  }

  #claimsAt(host: string): Claim<K>[] {
    return [...(this.#hosts.get(host)?.values() ?? [])];
  }

  #forget({ key, host }: Claim<K>): void {
    const claims = this.#hosts.get(host);
    claims?.delete(key);
    if (claims?.size === 0) this.#hosts.delete(host);
  }
}

/**
 * Ends turns: moves as many served groups to the end of the line as wait for their turn, the
 * longest served first.
 *
 * @param groups the competitors: claims on one host, or the claims of each download
 */
function passTurn<K>(groups: readonly Claim<K>[][], now: Millis, nextTurn: () => number): void {
  const wanting = groups.filter((group) => group.some(({ wanted }) => wanted > 0));
  const isServed = (group: readonly Claim<K>[]) => group.some(({ share }) => share > 0);
  const since = (group: readonly Claim<K>[]) => Math.max(...group.map((claim) => claim.since));
  const due = wanting.filter((group) => now - since(group) >= TURN_MS);
  const waiting = due.filter((group) => !isServed(group)).length;
  if (waiting === 0) return;
  const served = due.filter(isServed).sort((a, b) => since(a) - since(b));
  for (const group of served.slice(0, waiting)) {
    for (const claim of group) claim.turn = nextTurn();
  }
}

const firstTurn = (claims: readonly { turn: number }[]) =>
  Math.min(...claims.map(({ turn }) => turn));

/**
 * Divides equal units: no share is larger than wanted, all units are given out if enough are
 * wanted, and two shares that are both smaller than wanted differ by at most one.
 *
 * @param wanted 0 or more each; earlier entries get the remainder
 * @returns the shares, in the order of `wanted`
 */
export function fairShares(wanted: readonly number[], capacity: number): number[] {
  const shares = wanted.map(() => 0);
  let left = capacity;
  while (left > 0) {
    const hungry = shares.flatMap((share, i) => (share < (wanted[i] as number) ? [i] : []));
    if (hungry.length === 0) return shares;
    const each = Math.max(1, Math.floor(left / hungry.length));
    for (const i of hungry.slice(0, left)) {
      const more = Math.min(each, left, (wanted[i] as number) - (shares[i] as number));
      shares[i] = (shares[i] as number) + more;
      left -= more;
    }
  }
  return shares;
}
