/** Figures of a measurement that can be compared, in the form that pictures are drawn from. */

/** One value with its range. */
export interface Bar {
  /** Middle value, in the unit of the chart; not finite: there is nothing to show. */
  readonly value: number;
  /** Least and largest value, if it was measured more than once. */
  readonly low?: number | undefined;
  readonly high?: number | undefined;
}

/** Bars of one unit: a bar for each series, in each group. */
export interface BarChart {
  readonly title: string;
  /** Unit of all values, such as `GB/s`. */
  readonly unit: string;
  /** Whether large or small values are good. */
  readonly better: 'more' | 'less';
  /** Span of the whiskers, such as `least and most of 5 runs`; undefined: there are none. */
  readonly range?: string | undefined;
  /** Names of the series, in the order of each group's bars. */
  readonly series: readonly string[];
  readonly groups: readonly BarGroup[];
}

interface BarGroup {
  readonly name: string;
  /** A bar for each series; undefined: not measured. */
  readonly bars: readonly (Bar | undefined)[];
}
