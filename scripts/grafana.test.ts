/** The dashboard that we ship uses only metrics and labels that edges have. */

import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { documentUrl } from './docs.ts';
import { edgeMetrics, type MetricRow } from './edge-metrics.ts';
import { readPromql } from './promql.ts';

interface Dashboard {
  readonly panels: readonly {
    readonly title: string;
    readonly gridPos: { x: number; y: number; w: number; h: number };
    readonly targets: readonly { readonly expr: string; readonly legendFormat: string }[];
  }[];
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly definition?: string }[];
  };
}

const FILE = new URL('../edge/deploy/grafana/dashboards/millrace.json', import.meta.url);
const dashboard = JSON.parse(readFileSync(FILE, 'utf8')) as Dashboard;
/** Labels that Prometheus itself adds. */
const SCRAPED = ['instance', 'job'];
/** Endings of a histogram's series. */
const SUFFIXES = ['_bucket', '_sum', '_count'];

let metrics: ReadonlyMap<string, MetricRow>;
beforeAll(async () => {
  metrics = new Map((await edgeMetrics()).map((row) => [row.name, row]));
});

/** Returns the labels that Prometheus has for a metric; undefined if no metric has that name. */
function labelsOf(name: string): string[] | undefined {
  const plain = metrics.get(name);
  if (plain !== undefined && plain.type !== 'histogram') return [...plain.labels, ...SCRAPED];
  const suffix = SUFFIXES.find((end) => name.endsWith(end)) ?? '';
  const histogram = metrics.get(name.slice(0, name.length - suffix.length));
  if (suffix === '' || histogram?.type !== 'histogram') return undefined;
  return [...histogram.labels, ...SCRAPED, ...(suffix === '_bucket' ? ['le'] : [])];
}

/** Lists the metrics and labels in an expression that do not exist. */
function faults(expression: string): string[] {
  // Grafana replaces its own variables before Prometheus sees the expression.
  const { selections, grouping } = readPromql(expression.replaceAll('$__rate_interval', '5m'));
  const known = selections.flatMap(({ metric }) => labelsOf(metric) ?? []);
  return [
    ...(selections.length === 0 ? ['it asks for nothing'] : []),
    ...selections.flatMap(({ metric, labels }) => {
      const own = labelsOf(metric);
      if (own === undefined) return [`no metric ${metric}`];
      return labels.filter((label) => !own.includes(label)).map((l) => `${metric} has no ${l}`);
    }),
    ...grouping.filter((label) => !known.includes(label)).map((label) => `nothing has ${label}`),
  ];
}

const targets = dashboard.panels.flatMap(({ title, targets: all }) =>
  all.map(({ expr, legendFormat }) => [title, expr, legendFormat] as const),
);

describe('the dashboard for Grafana', () => {
  test.each(targets)('%s: %s', (_title, expression, legend) => {
    expect(faults(expression)).toEqual([]);
    const { grouping } = readPromql(expression.replaceAll('$__rate_interval', '5m'));
    const shown = [...legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label);
    expect(grouping).toEqual(expect.arrayContaining(shown));
  });

  test('has no overlapping panels', () => {
    const cells = dashboard.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, i) => `${x + (i % w)},${y + Math.floor(i / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(dashboard.panels.every(({ gridPos: { x, w } }) => x + w <= 24)).toBe(true);
  });

  test('selects edges by a metric that all of them have', () => {
    const edges = dashboard.templating.list.find(({ name }) => name === 'instance');
    const metric = /^label_values\((\w+), instance\)$/.exec(edges?.definition ?? '')?.[1];
    expect(labelsOf(metric ?? '')).toContain('instance');
  });
});

test('the metrics that METRICS.md queries exist', () => {
  const questions =
    readFileSync(documentUrl('edge/METRICS.md'), 'utf8').split('## Questions')[1] ?? '';
  const expressions = [...questions.matchAll(/\| `([^`]+)` \|/g)].map(([, text]) =>
    (text as string).replaceAll('\\|', '|'),
  );
  expect(expressions.length).toBeGreaterThan(4);
  for (const expression of expressions) expect(faults(expression)).toEqual([]);
});

test('the metrics that alerts and pages for operators name exist', () => {
  const named = [
    'edge/deploy/prometheus/alerts.yml',
    'edge/OPERATING.md',
    'edge/DEPOTS.md',
    'edge/PRESETS.md',
  ].flatMap((path) =>
    // Not: an ending, as in `millrace_admission_...`.
    [...readFileSync(documentUrl(path), 'utf8').matchAll(/\bmillrace_[a-z_]*[a-z]\b/g)].map(
      ([name]) => name,
    ),
  );
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((name) => labelsOf(name) === undefined)).toEqual([]);
});

test.each([
  ['rate(millrace_nothing_total[5m])', 'no metric millrace_nothing_total'],
  ['millrace_chunks_total{shelf="top"}', 'millrace_chunks_total has no shelf'],
  ['sum by (shelf) (millrace_chunks_total)', 'nothing has shelf'],
  ['millrace_window_chunks', 'no metric millrace_window_chunks'],
])('a mistake would be noticed: %s', (expression, fault) => {
  expect(faults(expression)).toEqual([fault]);
});
