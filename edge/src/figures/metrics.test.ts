import { expect, test } from '@jest/globals';
import { Metrics } from './metrics.ts';

test('Node looks at the event loop only for nodes whose figures somebody reads', async () => {
  const metrics = new Metrics();
  const isWatched = () =>
    metrics.registry.getSingleMetric('nodejs_eventloop_lag_p99_seconds') !== undefined;
  expect(isWatched()).toBe(false);
  const [first, second] = await Promise.all([metrics.collect(), metrics.collect()]);
  expect(isWatched()).toBe(true);
  for (const figures of [first, second]) {
    const names = figures.map(({ name }) => name);
    expect(names).toContain('millrace_client_bytes_total');
    expect(names).toContain('process_resident_memory_bytes');
    expect(names).toContain('nodejs_eventloop_lag_p99_seconds');
    expect(names).not.toContain('nodejs_active_handles_total');
  }
});
