/** Reads the metrics and labels of a PromQL expression with Prometheus' own grammar. */

import { parser } from '@prometheus-io/lezer-promql';

export interface Selection {
  readonly metric: string;
  /** Labels that the selection matches. */
  readonly labels: readonly string[];
}

export interface Expression {
  readonly selections: readonly Selection[];
  /** Labels that group the results. */
  readonly grouping: readonly string[];
}

/** Reads a PromQL expression. @throws Error if its syntax is wrong */
export function readPromql(expression: string): Expression {
  const selections: { metric: string; labels: string[] }[] = [];
  const grouping: string[] = [];
  let inGrouping = false;
  parser.parse(expression).iterate({
    enter({ name, from, to, type }) {
      if (type.isError) throw new Error(`not PromQL at ${from}: ${expression}`);
      const text = expression.slice(from, to);
      if (name === 'GroupingLabels') inGrouping = true;
      if (name === 'VectorSelector') selections.push({ metric: '', labels: [] });
      const latest = selections.at(-1);
      if (name === 'Identifier' && latest !== undefined) latest.metric = text;
      if (name === 'LabelName' && inGrouping) grouping.push(text);
      else if (name === 'LabelName') latest?.labels.push(text);
    },
    leave({ name }) {
      if (name === 'GroupingLabels') inGrouping = false;
    },
  });
  return { selections, grouping };
}
