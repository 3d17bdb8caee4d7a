/** The growth functions of windows that NSDI figure 9 compares. */

import { CongestionWindow, type Growth, paperGrowth } from '@millrace/shared/cdn/delivery/window';

/** Chunks of 60 KB in the paper's buffer. */
export const PAPER_MAX = 60;

/** A window that neither grows nor shrinks. */
class FixedWindow extends CongestionWindow {
  override onFirstAttemptKilled(): void {}
}

/** Logarithm for growth: 1 below 2, as the paper takes log(1) as 1. */
const log = (size: number) => (size < 2 ? 1 : Math.log(size));

const growing = (growth: Growth) => (max: number, initial: number) =>
  new CongestionWindow({ max, initial, growth });

export interface WindowKind {
  readonly name: string;
  /** Makes the window. @param max chunks that the buffer holds */
  readonly make: (max: number, initial: number) => CongestionWindow;
}

export const KINDS: readonly WindowKind[] = [
  { name: '0.1', make: growing(() => 0.1) },
  { name: '1/x', make: growing((size) => 1 / size) },
  { name: 'log(x)/x', make: growing((size) => log(size) / size) },
  { name: '1/log(x) (ours)', make: growing(paperGrowth) },
  { name: 'fixed', make: (max) => new FixedWindow({ max, initial: max }) },
];
