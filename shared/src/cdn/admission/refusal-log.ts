/**
 * Remembers refusals: counts by resource, the latest refusals, and the clients refused most, in
 * bounded memory. The clients are counted by the space-saving algorithm (Metwally, Agrawal, El
 * Abbadi: Efficient Computation of Frequent and Top-k Elements in Data Streams, ICDT 2005).
 */

import type { Millis } from '../../base/clock.ts';

/** Consequence for the client: an answer with an error, a slower pace, or the loss of a place. */
export type RefusalOutcome = 'refused' | 'delayed' | 'evicted';

/** Refusals of one kind to one client, counted together. */
export interface Refusal {
  readonly resource: string;
  readonly outcome: RefusalOutcome;
  /** Key of the client: an IPv4 address, or an IPv6 /64. */
  readonly client: string;
  /** Time of the latest, milliseconds of the clock that `record` is given. */
  readonly at: Millis;
  readonly times: number;
}

/** A client and how often it was refused; at most `error` of these were another client's. */
interface RefusedClient {
  readonly client: string;
  readonly count: number;
  readonly error: number;
}

/** Contents of a log. */
export interface RefusalReport {
  /** The newest first. */
  readonly recent: readonly Refusal[];
  /** By resource, the client refused most first. */
  readonly clients: Readonly<Record<string, readonly RefusedClient[]>>;
}

/** A client that was refused one resource. */
export interface RefusedOf extends RefusedClient {
  readonly resource: string;
}

/** Most refusals remembered, one for each client, resource and outcome. */
export const MAX_RECENT_REFUSALS = 100;
/** Most clients counted per resource. */
export const MAX_REFUSED_CLIENTS = 16;

interface Count {
  count: number;
  error: number;
}

export class RefusalLog {
  readonly #recent = new Map<string, Refusal>();
  readonly #clients = new Map<string, Map<string, Count>>();

  /**
   * Remembers that a client was refused something.
   *
   * @param resource a name of a fixed list, since each name has counts of its own
   * @param now milliseconds
   */
  record(resource: string, outcome: RefusalOutcome, client: string, now: Millis): void {
    const key = `${resource} ${outcome} ${client}`;
    const times = (this.#recent.get(key)?.times ?? 0) + 1;
    // Deleted first, so that the map stays in order of time.
    this.#recent.delete(key);
    this.#recent.set(key, { resource, outcome, client, at: now, times });
    if (this.#recent.size > MAX_RECENT_REFUSALS) {
      this.#recent.delete(this.#recent.keys().next().value as string);
    }
    this.#count(resource, client);
  }

  /** Contents of the log. */
  report(): RefusalReport {
    const clients = Object.fromEntries(
      [...this.#clients].map(([resource, counts]) => [
        resource,
        ranked([...counts].map(([client, count]) => ({ client, ...count }))),
      ]),
    );
    return { recent: [...this.#recent.values()].reverse(), clients };
  }

  #count(resource: string, client: string): void {
    let counts = this.#clients.get(resource);
    if (counts === undefined) {
      counts = new Map();
      this.#clients.set(resource, counts);
    }
    const known = counts.get(client);
    if (known !== undefined) {
      known.count++;
      return;
    }
    let error = 0;
    if (counts.size >= MAX_REFUSED_CLIENTS) {
      // A new client replaces the one counted least, and takes over its count as possible error.
      let least: [string, Count] | undefined;
      for (const entry of counts) {
        if (least === undefined || entry[1].count < least[1].count) least = entry;
      }
      error = least?.[1].count ?? 0;
      counts.delete(least?.[0] ?? '');
    }
    counts.set(client, { count: error + 1, error });
  }
}

/** Merges the logs of several processes into one. */
export function mergeRefusals(reports: readonly RefusalReport[]): RefusalReport {
  const recent = reports
    .flatMap((report) => report.recent)
    .toSorted((a, b) => b.at - a.at)
    .slice(0, MAX_RECENT_REFUSALS);
  const resources = new Set(reports.flatMap(({ clients }) => Object.keys(clients)));
  const clients = Object.fromEntries(
    Array.from(resources, (resource) => {
      const sums = new Map<string, Count>();
      for (const { client, count, error } of reports.flatMap((r) => r.clients[resource] ?? [])) {
        const sum = sums.get(client) ?? { count: 0, error: 0 };
        sums.set(client, { count: sum.count + count, error: sum.error + error });
      }
      const all = [...sums].map(([client, count]) => ({ client, ...count }));
      return [resource, ranked(all).slice(0, MAX_REFUSED_CLIENTS)];
    }),
  );
  return { recent, clients };
}

/**
 * Lists the clients refused most, over all resources; a client that was refused several is listed
 * with each.
 *
 * @param max most entries of the list
 */
export function mostRefused(clients: RefusalReport['clients'], max: number): RefusedOf[] {
  const all = Object.entries(clients).flatMap(([resource, refused]) =>
    refused.map((client) => ({ resource, ...client })),
  );
  return ranked(all).slice(0, max);
}

/** Sorts by the certain part of the count: newcomers took over counts of clients they replaced. */
function ranked<C extends RefusedClient>(clients: C[]): C[] {
  const sure = ({ count, error }: C) => count - error;
  return clients.toSorted(
    (a, b) => sure(b) - sure(a) || b.count - a.count || (a.client < b.client ? -1 : 1),
  );
}
