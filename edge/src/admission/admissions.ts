/**
 * The one record of the resources that strangers take from this edge: use and limits of every
 * resource of the table, and the clients that were refused it. Each limit is enforced where its
 * resource is handed out, and reports its refusals here.
 */

import type { Millis } from '@millrace/shared/base/clock';
import {
  RefusalLog,
  type RefusalOutcome,
  type RefusalReport,
} from '@millrace/shared/cdn/admission/refusal-log';
import { clientKey } from '@millrace/shared/node/clients/client-key';
import type { Metrics } from '../figures/metrics.ts';
import { RESOURCE_NAMES, type Resource } from './resources.ts';

/** How a resource is measured. */
export interface Meter {
  /** Amount in use, in the resource's unit; undefined for resources that are used up, not held. */
  readonly use?: (() => number) | undefined;
  /** Limit of all clients together; undefined: no limit. */
  readonly limit?: number | undefined;
  /** Limit of one client; undefined: no limit. */
  readonly perClient?: number | undefined;
}

/** State of a resource as the status shows it. */
export interface ResourceStatus {
  /** Undefined for resources that are used up, not held. */
  readonly use?: number | undefined;
  readonly limit?: number | undefined;
  readonly perClient?: number | undefined;
  readonly refused: number;
  readonly delayed: number;
  readonly evicted: number;
}

/** Called by a limit that has refused, delayed or evicted a client. */
export type OnRefusal = (resource: Resource, outcome: RefusalOutcome, client: string) => void;

type Counts = Record<RefusalOutcome, number>;

export class Admissions {
  readonly #log = new RefusalLog();
  readonly #meters = new Map<Resource, Meter>();
  readonly #counts = new Map<Resource, Counts>();
  readonly #metrics: Metrics;
  readonly #wallClock: () => Millis;

  /** @param wallClock Unix milliseconds */
  constructor(metrics: Metrics, wallClock: () => Millis) {
    this.#metrics = metrics;
    this.#wallClock = wallClock;
    for (const name of RESOURCE_NAMES) {
      this.#counts.set(name, { refused: 0, delayed: 0, evicted: 0 });
    }
    metrics.gauges(
      'admission_use',
      'Use by clients, by resource',
      'resource',
      () => this.#read(({ use }) => use?.()),
      'sum',
    );
    metrics.gauges(
      'admission_limit',
      'Limit for all clients together, by resource',
      'resource',
      () => this.#read(({ limit }) => limit),
      'sum',
    );
  }

  /** Sets how a resource is measured; called once for each. */
  measure(resource: Resource, meter: Meter): void {
    this.#meters.set(resource, meter);
  }

  /**
   * Counts a refusal.
   *
   * @param client address of the client, or its key
   */
  readonly refused: OnRefusal = (resource, outcome, client) => {
    const counts = this.#counts.get(resource) as Counts;
    counts[outcome]++;
    this.#metrics.refusals.inc({ resource, outcome });
    this.#log.record(resource, outcome, clientKey(client), this.#wallClock());
  };

  /** Use, limits and counts of refusals by resource. Names no client: anyone may see it. */
  status(): Record<Resource, ResourceStatus> {
    const rows = RESOURCE_NAMES.map((name) => {
      const { use, limit, perClient } = this.#meters.get(name) ?? {};
      const counts = this.#counts.get(name) as Counts;
      return [name, { use: use?.(), limit, perClient, ...counts }];
    });
    return Object.fromEntries(rows) as Record<Resource, ResourceStatus>;
  }

  /** Refusals with the clients' addresses: for administrators alone. */
  report(): RefusalReport {
    return this.#log.report();
  }

  #read(figure: (meter: Meter) => number | undefined): [label: string, value: number][] {
    return [...this.#meters].flatMap(([resource, meter]) => {
      const value = figure(meter);
      return value === undefined ? [] : [[resource, value] as [string, number]];
    });
  }
}
