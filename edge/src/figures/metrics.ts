/** The figures of a node, for Prometheus and for /-/status. */

import { setTimeout as pause } from 'node:timers/promises';
import {
  Counter,
  collectDefaultMetrics,
  Gauge,
  Histogram,
  type MetricObjectWithValues,
  type MetricValue,
  Registry,
} from 'prom-client';

/** Time in which Node has looked at the event loop twice, which makes a delay, ms. */
const FIRST_DELAY_MS = 25;

export class Metrics {
  readonly registry = new Registry();
  readonly requests = this.#counter('requests_total', 'Requests of clients', ['kind', 'status']);
  readonly clientBytes = this.#counter('client_bytes_total', 'Body bytes sent to clients');
  readonly originBytes = this.#counter(
    'origin_bytes_total',
    'Body bytes received from origins; of a body that is given up, at most a chunk',
  );
  readonly streams = this.#counter(
    'streams_total',
    'Files of origins without ranges received in one stream, by pass (first, later because chunks were lost, or followed at another node) and end',
    ['pass', 'end'],
  );
  readonly chunks = this.#counter(
    'chunks_total',
    'Chunks delivered, by the place where they were found',
    ['tier'],
  );
  readonly joins = this.#counter(
    'single_flight_joins_total',
    'Fetches shared with another request',
  );
  readonly retries = this.#counter('chunk_retries_total', 'Further requests for late chunks');
  readonly retriedChunks = this.#counter(
    'chunks_retried_total',
    'Chunks of responses that were requested again, each counted once',
  );
  readonly fetches = this.#counter(
    'chunk_fetches_total',
    'Chunks fetched, by hop (1 and more: through other nodes, as in forwards; origin) and requests sent for each: one or several',
    ['hop', 'requests'],
  );
  readonly races = this.#counter(
    'chunk_races_total',
    'Chunks that several requests competed for, by winner: the first request or a retry',
    ['winner'],
  );
  readonly forwards = this.#counter(
    'forwards_total',
    'Chunk requests sent to other nodes; hop 2 and more are re-forwards',
    ['hop'],
  );
  readonly versionForwards = this.#counter(
    'version_forwards_total',
    'Requests to other nodes for the current version of a file',
  );
  readonly peerFailures = this.#counter(
    'peer_failures_total',
    'Requests to other nodes that failed, by reason',
    ['kind'],
  );
  readonly peerBytes = this.#counter('peer_bytes_total', 'Chunk bytes received from other nodes');
  readonly insideRequests = this.#counter('inside_requests_total', 'Requests of other nodes', [
    'status',
  ]);
  readonly insideChunks = this.#counter(
    'inside_chunks_total',
    'Chunks sent to other nodes, by the place where they were found',
    ['tier'],
  );
  readonly reports = this.#counter(
    'reports_total',
    'Collections of the figures of a process, by kind of report',
    ['what'],
  );
  readonly refusals = this.#counter(
    'admission_refusals_total',
    'Refusals, delays and losses of clients, by resource',
    ['resource', 'outcome'],
  );
  readonly refused = this.#counter(
    'connections_refused_total',
    'New client connections refused because all were in use',
  );
  readonly reaped = this.#counter(
    'clients_purged_total',
    'Vanished clients whose connections were reset',
  );
  readonly offloads = this.#counter(
    'clients_offloaded_total',
    'Transfers reset so that they continue elsewhere',
  );
  readonly slowReset = this.#counter(
    'clients_slow_reset_total',
    'Transfers of the slowest readers reset because memory was short',
  );
  readonly nearAnswers = this.#counter(
    'near_answers_total',
    'Clients sent to their nearest edge: this one, or another',
    ['to'],
  );
  readonly depotReceived = this.#counter(
    'depot_received_bytes_total',
    'Bytes of files that clients have sent to the depot',
  );
  readonly depotPulled = this.#counter(
    'depot_pulled_bytes_total',
    'Bytes of files that the depot has fetched from elsewhere',
  );
  readonly depotSolved = this.#counter(
    'depot_solved_blocks_total',
    'Blocks of files on several depots that were solved from parity',
  );
  readonly contentPurges = this.#counter('content_purges_total', 'Purges carried out', ['kind']);
  readonly prefetches = this.#counter('prefetches_total', 'Prefetches ended', ['state']);
  readonly prefetchedBytes = this.#counter(
    'prefetched_bytes_total',
    'Chunk bytes that prefetches fetched from origins or other nodes',
  );
  readonly dnsQuestions = this.#counter(
    'dns_questions_total',
    'Packets that came to the DNS server of --dns-zone, by what became of them',
    ['outcome', 'transport'],
  );
  /** Body bytes sent to clients since the start. */
  clientBytesSum = 0;
  readonly errors = this.#counter(
    'errors_total',
    'Requests of clients that were refused or cut off, by code',
    ['code'],
  );
  readonly resets = this.#counter('responses_reset_total', 'Responses cut off', ['code']);
  readonly downloads = downloadsMetric(this.registry);
  readonly window = new Histogram({
    name: 'millrace_window_chunks',
    help: 'Size of the congestion window when a chunk comes in',
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256],
    registers: [this.registry],
  });

  #watching: Promise<void> | undefined;

  /**
   * Collects all figures, and those of the process. These begin with the first call: the library has
   * Node look at the event loop a hundred times a second, and a node that nobody watches would spend
   * most of its idle time's work on that.
   */
  async collect(): Promise<MetricObjectWithValues<MetricValue<string>>[]> {
    this.#watching ??= this.#watchProcess();
    await this.#watching;
    return this.registry.getMetricsAsJSON();
  }

  async #watchProcess(): Promise<void> {
    // Dashboards for programs on Node know these under the library's own names.
    collectDefaultMetrics({ register: this.registry });
    // Prometheus takes names with this ending for counters; the metrics without it say the same.
    for (const what of ['handles', 'requests', 'resources']) {
      this.registry.removeSingleMetric(`nodejs_active_${what}_total`);
    }
    await pause(FIRST_DELAY_MS);
  }

  /** Counts body bytes that were sent to a client. */
  sentToClient(bytes: number): void {
    this.clientBytes.inc(bytes);
    this.clientBytesSum += bytes;
  }

  /** Mean size of the congestion window when chunks come in; 0 before the first. */
  async meanWindow(): Promise<number> {
    const { sum, count } = await this.windowTotals();
    return count === 0 ? 0 : sum / count;
  }

  /** Sum and number of the window sizes seen. */
  async windowTotals(): Promise<{ sum: number; count: number }> {
    const { values } = await this.window.get();
    const value = (suffix: string) =>
      values.find(({ metricName }) => metricName?.endsWith(suffix))?.value ?? 0;
    return { sum: value('_sum'), count: value('_count') };
  }

  /**
   * Returns the number of chunks by the upper bound of the window's size, each chunk in one of
   * them.
   */
  async windowSizes(): Promise<Record<string, number>> {
    const { values } = await this.window.get();
    const sizes: Record<string, number> = {};
    let below = 0;
    for (const { metricName, labels, value } of values) {
      if (!metricName?.endsWith('_bucket')) continue;
      sizes[String(labels.le)] = value - below;
      below = value;
    }
    return sizes;
  }

  /**
   * Adds a figure that is read on request.
   *
   * @param together how values of several processes combine: `sum`, `min`, or `max` for one that
   *   they share
   */
  gauge(
    name: string,
    help: string,
    read: () => number,
    together: 'sum' | 'min' | 'max' = 'sum',
  ): void {
    new Gauge({
      name: `millrace_${name}`,
      help,
      aggregator: together,
      registers: [this.registry],
      collect() {
        this.set(read());
      },
    });
  }

  /**
   * Adds figures of things that come and go, each under its name. They are read on request, so that
   * a thing that is gone leaves no series behind.
   *
   * @param label kind of the things
   * @param read gives values by name; names that are left out have none
   * @param aggregator how values of several processes combine
   */
  gauges(
    name: string,
    help: string,
    label: string,
    read: () => Iterable<readonly [thing: string, value: number]>,
    aggregator: 'sum' | 'average',
  ): void {
    new Gauge({
      name: `millrace_${name}`,
      help,
      labelNames: [label],
      aggregator,
      registers: [this.registry],
      collect() {
        this.reset();
        for (const [thing, value] of read()) this.set({ [label]: thing }, value);
      },
    });
  }

  #counter<L extends string>(name: string, help: string, labelNames: L[] = []): Counter<L> {
    return new Counter({ name: `millrace_${name}`, help, labelNames, registers: [this.registry] });
  }
}

/** Makes the counter of downloads, which of several processes only the supervisor uses. */
export function downloadsMetric(registry: Registry): Counter<'state' | 'country'> {
  return new Counter({
    name: 'millrace_downloads_total',
    help: 'Downloads begun and completed by clients, by country (ZZ: not known); only with --admin-token-file',
    labelNames: ['state', 'country'],
    registers: [registry],
  });
}

/** Chunks fetched at a hop, and how many of them were requested again because they were late. */
interface Fetches {
  readonly all: number;
  readonly again: number;
}

/** Returns the fetches of chunks by hop; hops without any are left out. */
export async function fetchesByHop(counter: Counter<string>): Promise<Record<string, Fetches>> {
  const { values } = await counter.get();
  const byHop: Record<string, Fetches> = {};
  for (const { labels, value } of values) {
    const { all = 0, again = 0 } = byHop[String(labels.hop)] ?? {};
    const isAgain = labels.requests === 'several';
    byHop[String(labels.hop)] = { all: all + value, again: again + (isAgain ? value : 0) };
  }
  return byHop;
}

/** Returns the values of a counter by one of its labels, summed over its other labels. */
export async function counterValues(
  counter: Counter<string>,
  label: string,
): Promise<Record<string, number>> {
  const { values } = await counter.get();
  const sums: Record<string, number> = {};
  for (const { labels, value } of values) {
    const name = String(labels[label]);
    sums[name] = (sums[name] ?? 0) + value;
  }
  return sums;
}

/** Returns the value of a counter summed over its labels, or of one combination. */
export async function counterValue(
  counter: Counter<string>,
  labels?: Readonly<Record<string, string>>,
): Promise<number> {
  const { values } = await counter.get();
  return values
    .filter((v) => Object.entries(labels ?? {}).every(([k, value]) => v.labels[k] === value))
    .reduce((sum, v) => sum + v.value, 0);
}
