/** Writes the figures of one or several processes in a format that a scraper reads. */

import {
  AggregatorRegistry,
  type MetricObjectWithValues,
  Registry,
  type RegistryContentType,
} from 'prom-client';

/** Format 0.0.4 of Prometheus, or OpenMetrics 1.0. */
export type MetricsFormat = 'metrics' | 'openMetrics';

export const CONTENT_TYPES: Readonly<Record<MetricsFormat, RegistryContentType>> = {
  metrics: Registry.PROMETHEUS_CONTENT_TYPE,
  openMetrics: Registry.OPENMETRICS_CONTENT_TYPE,
};

type Metric = MetricObjectWithValues<never>;

/**
 * Returns the format that a scraper prefers: OpenMetrics only if its Accept field names that type
 * and ranks it no lower than the older one (RFC 9110 12.5.1).
 */
export function preferredFormat(accept: string | undefined): MetricsFormat {
  let [open, text] = [0, 0];
  for (const item of (accept ?? '').split(',')) {
    const [type = '', ...parameters] = item.split(';').map((part) => part.trim().toLowerCase());
    const q = Number(parameters.find((part) => part.startsWith('q='))?.slice(2) ?? 1);
    const version = parameters.find((part) => part.startsWith('version='))?.slice(8) ?? '1.0.0';
    const isOpen = type === 'application/openmetrics-text' && version === '1.0.0';
    if (isOpen) open = Math.max(open, q || 0);
    else if (type === 'text/plain') text = Math.max(text, q || 0);
  }
  return open > 0 && open >= text ? 'openMetrics' : 'metrics';
}

/**
 * Merges and writes figures.
 *
 * @param parts of all processes, as `Registry.getMetricsAsJSON` gives them
 */
export function metricsText(parts: readonly unknown[], format: MetricsFormat): Promise<string> {
  const all = (parts as Metric[][]).map((metrics) =>
    metrics.map((metric) => ({
      ...metric,
      name: format === 'openMetrics' ? familyName(metric) : metric.name,
      // The figures of one process need no sum, and none of them is left out.
      ...(parts.length === 1 ? { aggregator: 'first' } : {}),
    })),
  );
  const registry: Registry<RegistryContentType> = AggregatorRegistry.aggregate(all);
  registry.setContentType(CONTENT_TYPES[format]);
  return registry.metrics();
}

/** In OpenMetrics a counter is named without the suffix that its samples have. */
function familyName({ name, type }: Metric): string {
  const isCounter = String(type) === 'counter';
  return isCounter ? name.replace(/_total$/, '') : name;
}
