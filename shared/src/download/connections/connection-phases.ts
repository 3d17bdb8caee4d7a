/** The phases in which a download finds out how many connections it needs. */

import type { Rate } from './connection-rates.ts';

/** Small requests are made beside one connection. */
export interface Probing {
  readonly kind: 'probing';
  /** For each answer, whether it was late. */
  readonly late: boolean[];
  /** The rate of one connection; undefined: not measured, as it was falling. */
  readonly from: Rate | undefined;
  steps: number;
}

/** More connections are tried while they bring more. */
export interface Rising {
  readonly kind: 'rising';
  /** Rates of the steps with the present count. */
  readonly rates: number[];
  /** The last count that brought more than the one before. */
  readonly from: Rate | undefined;
}

/** A count is tried, and compared with the one before. */
export interface Trial {
  readonly from: Rate;
  /** True if losses are why more connections are tried. */
  readonly isForLosses: boolean;
}

export type Phase =
  /** The rate of the first connection grows by itself; `before` is that of the last step. */
  | { readonly kind: 'starting'; before: number }
  | Probing
  /** The rate grows by itself or with the count; `rates` has one entry per step. */
  | { readonly kind: 'growing'; readonly rates: number[] }
  | Rising
  | { readonly kind: 'steady' }
  /** A trial whose connections have not reached their rate yet. */
  | (Trial & { readonly kind: 'settling'; steps: number })
  | (Trial & { readonly kind: 'measuring' });
