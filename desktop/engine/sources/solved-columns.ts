/** Columns that are being solved, and those that have been: both take no more than a bounded memory. */

import { WaitingLine } from '@millrace/shared/base/waiting-line';

interface Column<T> {
  readonly work: Promise<T>;
  readonly bytes: number;
  isDone: boolean;
}

export interface SolvedColumnsOptions {
  /** Most bytes that are solved at a time; a column that is larger is solved alone. */
  readonly mostAtOnce: number;
  /** Most bytes of solved columns that are kept; the latest column always is. */
  readonly mostKept: number;
}

export class SolvedColumns<T> {
  readonly #options: SolvedColumnsOptions;
  /** Columns by name, the latest last. */
  readonly #columns = new Map<string, Column<T>>();
  readonly #waiting = new WaitingLine<() => void>();
  #bytes = 0;

  constructor(options: SolvedColumnsOptions) {
    this.#options = options;
  }

  /** Returns a column that is being solved, or has been; undefined: neither. */
  async get(name: string): Promise<T | undefined> {
    return this.#columns.get(name)?.work.catch(() => undefined);
  }

  /**
   * Solves a column once there is room for it.
   *
   * @param bytes that are solved
   * @throws what `work` throws; the signal's reason
   */
  async solve(
    name: string,
    bytes: number,
    signal: AbortSignal,
    work: () => Promise<T>,
  ): Promise<T> {
    const column = { work: this.#inTurn(bytes, signal, work), bytes, isDone: false };
    this.#columns.delete(name);
    this.#columns.set(name, column);
    try {
      const solved = await column.work;
      column.isDone = true;
      this.#drop();
      return solved;
    } catch (error) {
      if (this.#columns.get(name) === column) this.#columns.delete(name);
      throw error;
    }
  }

  async #inTurn(bytes: number, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    while (this.#bytes > 0 && this.#bytes + bytes > this.#options.mostAtOnce) {
      await this.#woken(signal);
      signal.throwIfAborted();
    }
    this.#bytes += bytes;
    try {
      return await work();
    } finally {
      this.#bytes -= bytes;
      for (const wake of this.#waiting.takeAll()) wake();
    }
  }

  /** Waits until another column is solved, or the signal aborts. */
  #woken(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = () => {
      signal.removeEventListener('abort', wake);
      this.#waiting.delete(wake);
      resolve();
    };
    this.#waiting.add(wake);
    signal.addEventListener('abort', wake, { once: true });
    return promise;
  }

  /** Forgets the oldest solved columns beyond what is kept. */
  #drop(): void {
    const done = [...this.#columns].filter(([, { isDone }]) => isDone);
    let bytes = done.reduce((sum, [, column]) => sum + column.bytes, 0);
    for (const [name, column] of done.slice(0, -1)) {
      if (bytes <= this.#options.mostKept) return;
      this.#columns.delete(name);
      bytes -= column.bytes;
    }
  }
}
