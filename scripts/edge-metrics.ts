/** Lists an edge's metrics, from an edge with every feature that has metrics. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildApp } from '../edge/src/app.ts';
import { readConfig } from '../edge/src/config/config.ts';
import { standIn } from '../edge/src/listen/acme/order.ts';
import { silentLog } from '../shared/src/base/log.ts';

/** Silent log with the methods that the edge's server needs. */
const log = {
  ...silentLog,
  fatal() {},
  trace() {},
  child: () => log,
};

export interface MetricRow {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly labels: readonly string[];
}

/** Returns all metrics of an edge, sorted by name. */
export async function edgeMetrics(): Promise<MetricRow[]> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-docs-'));
  try {
    const secret = join(folder, 'secret');
    writeFileSync(secret, 'a secret for nobody');
    const files = ['--secret-file', secret, '--admin-token-file', secret];
    const zone = ['--dns-zone', 'cdn.example.net', '--dns-server', 'ns.example.net'];
    const anycast = ['--anycast-file', join(folder, 'routes'), '--anycast-route', '192.0.2.1'];
    // Small sizes: an edge refuses sizes that exceed the disk.
    const cache = ['--cache-dir', join(folder, 'cache'), '--cache-disk', '64MiB'];
    const depot = ['--depot-dir', join(folder, 'depot'), '--depot-quota', '64MiB'];
    const tls = ['--tls-cert', join(folder, 'cert'), '--tls-key', join(folder, 'key')];
    const pair = await standIn('edge.example.net');
    writeFileSync(join(folder, 'cert'), pair.cert);
    writeFileSync(join(folder, 'key'), pair.key);
    const options = [...cache, ...depot, ...tls, ...files, ...zone, ...anycast];
    const config = readConfig(options, {});
    const app = await buildApp(config, log);
    // Metrics of the process come with the first call.
    await app.metrics.collect();
    const rows = app.metrics.registry.getMetricsAsArray().map((metric) => {
      // Metrics have a type and label names, but the library's declarations leave them out.
      const { type, labelNames } = metric as unknown as { type: string; labelNames: string[] };
      return { name: metric.name, type, help: metric.help, labels: labelNames };
    });
    await app.close();
    return rows.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
