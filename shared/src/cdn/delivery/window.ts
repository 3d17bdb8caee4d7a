/** Chunks by which a window grows after a fast chunk, by its size of at least 1. */
export type Growth = (size: number) => number;

/** 1 / ln(size): fast at first, slower later (NSDI 5.5, figure 9). */
export const paperGrowth: Growth = (size) =>
  // The paper takes ln(1) as 1. Between 1 and 2 the quotient would explode, so it is 1 there too.
  size < 2 ? 1 : 1 / Math.log(size);

const FIRST_CHUNKS = 4;
const FIRST_BYTES = 1024 * 1024;
/** Fewest chunks at first: with a single one nothing would come while it is late. */
const MIN_FIRST_CHUNKS = 2;

/**
 * Returns the number of chunks that a response begins with: four, if they are no more than 1 MiB
 * (the paper: 10 of 60 KB, NSDI 5.5). From an origin with little bandwidth, chunks that are
 * requested together come together, and late: the fewer bytes they have, the earlier the client
 * gets the first ones.
 *
 * @param chunkBytes size of a chunk, at least 1
 * @returns whole chunks, 2 to 4
 */
export function firstWindow(chunkBytes: number): number {
  const chunks = Math.min(FIRST_CHUNKS, Math.floor(FIRST_BYTES / chunkBytes));
  return Math.max(MIN_FIRST_CHUNKS, chunks);
}

/**
 * The agent's congestion window (NSDI 5.5; LOGIN): how many chunks of one response may be fetched
 * or held at a time. In the spirit of TCP Vegas it grows while chunks come faster than average and
 * shrinks by one whenever the first attempt at a chunk has to be cancelled.
 */
export class CongestionWindow {
  readonly #max: number;
  readonly #growth: Growth;
  #size: number;
  #hasShrunk = false;

  /**
   * @param options.max upper bound in chunks, at least 1: the buffer per client over the chunk size
   * @param options.initial first size in chunks: `firstWindow` for edges
   * @param options.growth `paperGrowth` unless given
   */
  constructor(options: { max: number; initial: number; growth?: Growth }) {
    this.#max = Math.max(1, options.max);
    this.#growth = options.growth ?? paperGrowth;
    this.#size = Math.min(this.#max, Math.max(1, options.initial));
  }

  /** The window in chunks, a real number of at least 1. */
  get size(): number {
    return this.#size;
  }

  /** Whole chunks that may be under way or held. */
  get limit(): number {
    return Math.floor(this.#size);
  }

  /** A chunk came in less than the average time: grow. */
  onFastChunk(): void {
    this.#size = Math.min(this.#max, this.#size + this.#growth(this.#size));
  }

  /**
   * A chunk was in memory, which says nothing about the network and costs it nothing: open the
   * window, since more such chunks are likely, unless the window has shrunk before.
   *
   * @param chunks size to open the window to, within its bound
   */
  onLocalChunk(chunks: number): void {
    if (this.#hasShrunk) return;
    this.#size = Math.max(this.#size, Math.min(this.#max, chunks));
  }

  /** The first attempt at a chunk was killed by a retry: shrink by one chunk. */
  onFirstAttemptKilled(): void {
    this.#hasShrunk = true;
    this.#size = Math.max(1, this.#size - 1);
  }
}
