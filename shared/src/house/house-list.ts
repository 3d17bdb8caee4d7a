/**
 * The edges that announce themselves on a link. Everything in an announcement is a stranger's: an edge
 * is known by the address that its packet came from, whatever the packet says, and it is listed only
 * after that address has answered as an edge. The list is bounded, also while somebody floods the
 * link, and edges that have answered stay in it then.
 */

import type { Millis } from '../base/clock.ts';
import { readTxt, SERVICE_TYPE } from './announcement.ts';

/** Most announced edges that are kept, those included that have not answered. */
export const MAX_ANNOUNCED = 64;
/** Most of them at one address: a machine may run several edges. */
const MAX_PER_ADDRESS = 4;
/** Most records of a packet that are read. */
const MAX_RECORDS = 64;
/** Longest time that an announcement counts: that of records without a host name (RFC 6762 10). */
const MAX_TTL_S = 75 * 60;
/** Parts of its time after which an announcement is asked for anew (RFC 6762 5.2). */
const REFRESH_AT = [0.8, 0.85, 0.9, 0.95] as const;
/** Most announced edges that are being asked at a time. */
const MAX_ASKED = 4;
/** Pause before an edge that has not answered is asked again; it doubles with each failure. */
const ASK_AGAIN_MS = 60_000;
const MAX_ASK_AGAIN_MS = 3600_000;
/** Age of an answer at which an edge has to identify itself anew: others may get its address. */
const IDENTIFIED_FOR_MS = 10 * 60_000;

/** Time for which an address is not asked after it has brought wrong bytes. */
const DISTRUST_MS = 3600_000;
/** Most such addresses that are remembered. */
const MAX_DISTRUSTED = 256;

/** A resource record, as far as it is read. */
export interface LinkRecord {
  readonly name: string;
  readonly type: string;
  /** Seconds. */
  readonly ttl?: number | undefined;
  readonly data?: unknown;
}

/** An edge on the link. */
export interface HouseEdge {
  /** Base URL: with the address, or for TLS with the name of the certificate. */
  readonly url: string;
  /** The only address to connect to: the one that the announcement came from. */
  readonly address: string;
  /** Name that it gives itself, may be empty; it proves nothing. */
  readonly name: string;
}

/** An edge that has answered as one. */
export interface IdentifiedEdge extends HouseEdge {
  /** Round trip to it. */
  readonly rttMs: Millis;
}

interface Entry {
  readonly edge: HouseEdge;
  /** Name of its records, lower case. */
  readonly instance: string;
  learnedAt: Millis;
  ttlMs: Millis;
  /** Times that it was asked for anew since then. */
  refreshed: number;
  /** Undefined: it has not answered as an edge. */
  identified: { readonly rttMs: Millis; readonly at: Millis } | undefined;
  isAsked: boolean;
  failures: number;
  askAt: Millis;
}

export class HouseList {
  readonly #entries = new Map<string, Entry>();
  /** Addresses that have brought wrong bytes, and when. */
  readonly #distrusted = new Map<string, Millis>();

  /** Number of announced edges, those included that have not answered. */
  get size(): number {
    return this.#entries.size;
  }

  /**
   * Takes the records of one answer. The record of a place (SRV) counts only together with that of
   * its facts (TXT): edges send both.
   *
   * @param from address that the packet came from, of the same link
   */
  onRecords(all: readonly LinkRecord[], from: string, now: Millis): void {
    this.#expire(now);
    const records = all.slice(0, MAX_RECORDS);
    for (const { name, type, ttl = 0, data } of records) {
      const instance = lower(name);
      if (type === 'PTR' && instance === SERVICE_TYPE && ttl === 0) this.#goodbye(data, from);
      if (type !== 'SRV' || !instance.endsWith(`.${SERVICE_TYPE}`)) continue;
      if (ttl === 0) {
        this.#goodbye(name, from);
        continue;
      }
      const port = (data as { port?: unknown } | undefined)?.port;
      const facts = records.find((one) => one.type === 'TXT' && lower(one.name) === instance);
      const announced = readTxt(stringsOf(facts?.data));
      if (announced === undefined || !isPort(port)) continue;
      const { tlsHost, name: shown } = announced;
      const host = tlsHost ?? from;
      const url = new URL(`${tlsHost === undefined ? 'http' : 'https'}://${host}:${port}`).origin;
      this.#learn({ url, address: from, name: shown }, instance, ttl, now);
    }
  }

  /** Returns the edges to ask now whether they are edges, and counts them as being asked. */
  toAsk(now: Millis): HouseEdge[] {
    this.#expire(now);
    const entries = [...this.#entries.values()];
    const asked = entries.filter(({ isAsked }) => isAsked).length;
    const due = entries.filter(({ isAsked, askAt }) => !isAsked && askAt <= now);
    const chosen = due.slice(0, Math.max(0, MAX_ASKED - asked));
    for (const entry of chosen) entry.isAsked = true;
    return chosen.map(({ edge }) => edge);
  }

  /** Notes that an edge has answered as one. */
  onIdentified(edge: HouseEdge, rttMs: Millis, now: Millis): void {
    const entry = this.#entries.get(keyOf(edge));
    if (entry === undefined) return;
    entry.isAsked = false;
    entry.failures = 0;
    entry.identified = { rttMs, at: now };
    entry.askAt = now + IDENTIFIED_FOR_MS;
  }

  /** Notes that an address has not answered, or not as an edge. */
  onFailed(edge: HouseEdge, now: Millis): void {
    const entry = this.#entries.get(keyOf(edge));
    if (entry === undefined) return;
    entry.isAsked = false;
    entry.identified = undefined;
    entry.askAt = now + Math.min(MAX_ASK_AGAIN_MS, ASK_AGAIN_MS * 2 ** entry.failures++);
  }

  /** Notes that an edge may have brought wrong bytes: nothing at its address is asked for a while. */
  onWrong({ address }: HouseEdge, now: Millis): void {
    for (const [key, { edge }] of this.#entries) {
      if (edge.address === address) this.#entries.delete(key);
    }
    this.#distrusted.delete(address);
    this.#distrusted.set(address, now);
    const [oldest] = this.#distrusted.keys();
    if (this.#distrusted.size > MAX_DISTRUSTED) this.#distrusted.delete(oldest as string);
  }

  /** Returns the edges that have answered, the nearest first. */
  edges(now: Millis): IdentifiedEdge[] {
    this.#expire(now);
    return [...this.#entries.values()]
      .flatMap(({ edge, identified }) =>
        identified === undefined ? [] : [{ ...edge, rttMs: identified.rttMs }],
      )
      .sort((a, b) => a.rttMs - b.rttMs);
  }

  /** Returns when announcements have to be asked for anew; undefined: there are none. */
  refreshAt(): Millis | undefined {
    const times = [...this.#entries.values()].map(refreshOf).filter((at) => at !== Infinity);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  /** Notes that all edges have been asked to announce themselves. */
  onQueried(now: Millis): void {
    for (const entry of this.#entries.values()) {
      while (refreshOf(entry) <= now) entry.refreshed++;
    }
  }

  /** Returns when `toAsk` has something to ask, at the earliest; undefined: nothing is left. */
  askAt(): Millis | undefined {
    const left = [...this.#entries.values()].filter(({ isAsked }) => !isAsked);
    return left.length === 0 ? undefined : Math.min(...left.map(({ askAt }) => askAt));
  }

  #learn(edge: HouseEdge, instance: string, ttlS: number, now: Millis): void {
    const ttlMs = Math.min(ttlS, MAX_TTL_S) * 1000;
    const key = keyOf(edge);
    const known = this.#entries.get(key);
    if (known !== undefined) {
      Object.assign(known, { learnedAt: now, ttlMs, refreshed: 0 });
      return;
    }
    const wrongAt = this.#distrusted.get(edge.address);
    if (wrongAt !== undefined && now - wrongAt < DISTRUST_MS) return;
    const there = [...this.#entries.values()].filter((one) => one.edge.address === edge.address);
    if (there.length >= MAX_PER_ADDRESS || !this.#makeRoom()) return;
    this.#entries.set(key, {
      ...{ edge, instance, learnedAt: now, ttlMs, refreshed: 0, identified: undefined },
      ...{ isAsked: false, failures: 0, askAt: now },
    });
  }

  /** Makes room for one: the oldest that has not answered goes. @returns false if all have */
  #makeRoom(): boolean {
    if (this.#entries.size < MAX_ANNOUNCED) return true;
    const oldest = [...this.#entries].find(([, { identified }]) => identified === undefined);
    return oldest !== undefined && this.#entries.delete(oldest[0]);
  }

  /** Removes what an address has announced under a name: nobody can say goodbye for another. */
  #goodbye(name: unknown, from: string): void {
    if (typeof name !== 'string') return;
    for (const [key, { edge, instance }] of this.#entries) {
      if (edge.address === from && instance === lower(name)) this.#entries.delete(key);
    }
  }

  #expire(now: Millis): void {
    for (const [key, { learnedAt, ttlMs }] of this.#entries) {
      // A clock that was set back must not keep an announcement for ever.
      if (now - learnedAt >= ttlMs || now < learnedAt) this.#entries.delete(key);
    }
  }
}

function keyOf({ url, address }: HouseEdge): string {
  return `${address} ${url}`;
}

function refreshOf({ learnedAt, ttlMs, refreshed }: Entry): Millis {
  const part = REFRESH_AT[refreshed];
  return part === undefined ? Infinity : learnedAt + ttlMs * part;
}

function isPort(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value > 0 && value < 65536;
}

function lower(name: unknown): string {
  return String(name).toLowerCase();
}

/** Returns the strings of a TXT record: bytes, one string or several. */
function stringsOf(data: unknown): string[] {
  const list: readonly unknown[] = Array.isArray(data) ? data : [data];
  const decoder = new TextDecoder();
  return list.flatMap((one) => {
    if (typeof one === 'string') return one;
    return one instanceof Uint8Array ? decoder.decode(one) : [];
  });
}
