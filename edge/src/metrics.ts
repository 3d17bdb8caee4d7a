/** The figures of a node, for Prometheus and for /-/status. */

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

export class Metrics {
  readonly registry = new Registry();
  readonly requests = this.#counter('requests_total', 'Requests of clients', ['kind', 'status']);
  readonly clientBytes = this.#counter('client_bytes_total', 'Body bytes sent to clients');
  readonly originBytes = this.#counter('origin_bytes_total', 'Body bytes received from origins');
  readonly chunks = this.#counter('chunks_total', 'Chunks delivered, by where they were', ['tier']);
  readonly joins = this.#counter(
    'single_flight_joins_total',
    'Fetches shared with another request',
  );
  readonly retries = this.#counter('chunk_retries_total', 'Chunks asked for again');
  readonly resets = this.#counter('responses_reset_total', 'Responses cut off', ['code']);
  readonly window = new Histogram({
    name: 'millrace_window_chunks',
    help: 'Size of the congestion window when a chunk comes in',
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256],
    registers: [this.registry],
  });

  constructor() {
    collectDefaultMetrics({ register: this.registry, prefix: 'millrace_' });
  }

  /** A figure that is read when somebody asks. */
  gauge(name: string, help: string, read: () => number): void {
    new Gauge({
      name: `millrace_${name}`,
      help,
      registers: [this.registry],
      collect() {
        this.set(read());
      },
    });
  }

  #counter<L extends string>(name: string, help: string, labelNames: L[] = []): Counter<L> {
    return new Counter({ name: `millrace_${name}`, help, labelNames, registers: [this.registry] });
  }
}

/** The value of a counter summed over its labels, or of one combination. */
export async function counterValue(
  counter: Counter<string>,
  labels?: Readonly<Record<string, string>>,
): Promise<number> {
  const { values } = await counter.get();
  return values
    .filter((v) => Object.entries(labels ?? {}).every(([k, value]) => v.labels[k] === value))
    .reduce((sum, v) => sum + v.value, 0);
}
