/** The ways to let a window grow that NSDI figure 9 compares. */

import { CongestionWindow, type Growth, paperGrowth } from '@millrace/shared/cdn/delivery/window';

/** The paper's buffer, in chunks of 60 KB. */
export const PAPER_MAX = 60;

/** Neither grows nor shrinks. */
class FixedWindow extends CongestionWindow {
  override onFirstAttemptKilled(): void {}
}

/** The paper takes log(1) as 1; where the logarithm of real numbers is less, so do we. */
const log = (size: number) => (size < 2 ? 1 : Math.log(size));

const growing = (growth: Growth) => (max: number, initial: number) =>
  new CongestionWindow({ max, initial, growth });

export interface WindowKind {
  readonly name: string;
  /** @param max chunks that the buffer holds */
  readonly make: (max: number, initial: number) => CongestionWindow;
}

export const KINDS: readonly WindowKind[] = [
  { name: '0.1', make: growing(() => 0.1) },
  { name: '1/x', make: growing((size) => 1 / size) },
  { name: 'log(x)/x', make: growing((size) => log(size) / size) },
  { name: '1/log(x) (ours)', make: growing(paperGrowth) },
  { name: 'fixed', make: (max) => new FixedWindow({ max, initial: max }) },
];
