/** Lists an edge's metrics, from one that is built with everything that has figures. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildApp } from '../edge/src/app.ts';
import { readConfig } from '../edge/src/config/config.ts';
import { silentLog } from '../shared/src/base/log.ts';

/** As the edge's server wants it. */
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

/** Metrics in the order of their names. */
export async function edgeMetrics(): Promise<MetricRow[]> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-docs-'));
  try {
    const secret = join(folder, 'secret');
    writeFileSync(secret, 'a secret for nobody');
    const files = ['--secret-file', secret, '--admin-token-file', secret];
    const config = readConfig(['--cache-dir', join(folder, 'cache'), ...files], {});
    const app = await buildApp(config, log);
    const rows = app.metrics.registry.getMetricsAsArray().map((metric) => {
      // A metric has its name and labels, but its type does not tell.
      const { type, labelNames } = metric as unknown as { type: string; labelNames: string[] };
      return { name: metric.name, type, help: metric.help, labels: labelNames };
    });
    await app.close();
    return rows.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
