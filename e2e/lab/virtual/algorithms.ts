/** The compared algorithms, by name: the paper's with its block sizes, and the project's. */

import type { Algorithm } from './replica-download.ts';

const KiB = 1024;
/** LOCI 4: block sizes, and 1 or 2 threads to each server. */
export const BLOCK_SIZES = [128, 256, 512, 1024, 2048].map((size) => size * KiB);
export const THREADS = [1, 2] as const;

export interface NamedAlgorithm {
  readonly name: string;
  readonly algorithm: Algorithm;
}

function paper(name: string, copies: number, progress: number, blockBytes: number): NamedAlgorithm {
  const size =
    blockBytes < 1024 * KiB ? `${blockBytes / KiB} KiB` : `${blockBytes / KiB / KiB} MiB`;
  return {
    name: `LOCI ${name}, ${size}`,
    algorithm: { by: 'paper', copies, progress, blockBytes },
  };
}

export const OURS: readonly NamedAlgorithm[] = (['basic', 'aggressive', 'progress'] as const).map(
  (mode) => ({ name: `Millrace ${mode}`, algorithm: { by: 'millrace', mode } }),
);

/** Figures 3, 4 and 7 to 9: the three algorithms with every block size; R = 3 and P = 6 (4.2). */
export const PAPERS: readonly NamedAlgorithm[] = [
  ...BLOCK_SIZES.map((size) => paper('basic', 1, 0, size)),
  ...BLOCK_SIZES.map((size) => paper('aggressive', 3, 0, size)),
  ...BLOCK_SIZES.map((size) => paper('progress-driven', 3, 6, size)),
];

/** Figure 5: aggressive with R = 2, 3, 4. Figure 6: progress-driven with P = 3, 6, 9. */
export const VARIED: readonly NamedAlgorithm[] = [
  ...[2, 3, 4].map((copies) => paper(`aggressive R=${copies}`, copies, 0, 1024 * KiB)),
  ...[3, 6, 9].map((progress) => paper(`progress-driven P=${progress}`, 3, progress, 1024 * KiB)),
];
