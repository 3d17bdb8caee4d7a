import { expect, test } from '@jest/globals';
import { Counter, Gauge, Registry } from 'prom-client';
import { metricsText, preferredFormat } from './metrics-text.ts';

test('a scraper gets OpenMetrics if it ranks it no lower than the older format', () => {
  const prometheus =
    'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,text/plain;version=0.0.4;q=0.4,*/*;q=0.1';
  expect(preferredFormat(prometheus)).toBe('openMetrics');
  expect(preferredFormat('application/openmetrics-text; version=0.0.1')).toBe('metrics');
  expect(preferredFormat('application/openmetrics-text;q=0, text/plain')).toBe('metrics');
  expect(preferredFormat('text/plain, application/openmetrics-text;q=0.5')).toBe('metrics');
  expect(preferredFormat('*/*')).toBe('metrics');
  expect(preferredFormat(undefined)).toBe('metrics');
});

test('both formats have all figures of all processes, each counter under its one name', async () => {
  const part = async (n: number) => {
    const registry = new Registry();
    new Counter({ name: 'a_total', help: 'A', labelNames: ['x'], registers: [registry] }).inc(
      { x: 'y' },
      n,
    );
    const gauge = { name: 'b', help: 'B', registers: [registry], aggregator: 'omit' as const };
    new Gauge(gauge).set(n);
    return registry.getMetricsAsJSON();
  };
  const parts = [await part(1), await part(2)];
  expect(await metricsText(parts, 'metrics')).toBe(
    '# HELP a_total A\n# TYPE a_total counter\na_total{x="y"} 3\n',
  );
  expect(await metricsText(parts.slice(0, 1), 'openMetrics')).toBe(
    '# HELP a A\n# TYPE a counter\na_total{x="y"} 1\n# HELP b B\n# TYPE b gauge\nb 1\n# EOF\n',
  );
});
