/** Columns that are being solved, and those that have been: both take no more than a bounded memory. */

import { WaitingLine } from '../../base/waiting-line.ts';

interface Column<T> {
  readonly work: Promise<T>;
  readonly bytes: number;
  /** Ends the work once nobody waits for it any more. */
  readonly abort: AbortController;
  waiting: number;
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

  /**
   * Returns a column that is being solved, or has been; the promise gives undefined if it failed. Without
   * such a column, undefined is returned at once: a caller that then solves it without a pause is the only
   * one to do so.
   *
   * @throws the signal's reason
   */
  get(name: string, signal: AbortSignal): Promise<T | undefined> | undefined {
    const column = this.#columns.get(name);
    return column && this.#joined(column, signal);
  }

  async #joined(column: Column<T>, signal: AbortSignal): Promise<T | undefined> {
    const solved = await this.#wait(column, signal).catch(() => undefined);
    signal.throwIfAborted();
    return solved;
  }

  /**
   * Solves a column once there is room for it. It goes on while anybody waits for it, here or in `get`:
   * of several requests for one block, the first may end before the others.
   *
   * @param bytes that are solved
   * @throws what `work` throws; the signal's reason
   */
  async solve(
    name: string,
    bytes: number,
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const abort = new AbortController();
    const solving = this.#inTurn(bytes, abort.signal, work);
    const column: Column<T> = { work: solving, bytes, abort, waiting: 0, isDone: false };
    this.#columns.delete(name);
    this.#columns.set(name, column);
    const forget = () => {
      if (this.#columns.get(name) === column) this.#columns.delete(name);
    };
    abort.signal.addEventListener('abort', forget, { once: true });
    solving.then(() => {
      column.isDone = true;
      this.#drop();
    }, forget);
    return this.#wait(column, signal);
  }

  async #wait(column: Column<T>, signal: AbortSignal): Promise<T> {
    const { promise: left, reject } = Promise.withResolvers<never>();
    column.waiting++;
    const leave = () => {
      if (--column.waiting === 0 && !column.isDone) column.abort.abort(signal.reason);
      reject(signal.reason);
    };
    signal.addEventListener('abort', leave, { once: true });
    if (signal.aborted) leave();
    try {
      return await Promise.race([column.work, left]);
    } finally {
      signal.removeEventListener('abort', leave);
    }
  }

  async #inTurn(
    bytes: number,
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    while (this.#bytes > 0 && this.#bytes + bytes > this.#options.mostAtOnce) {
      await this.#woken(signal);
      signal.throwIfAborted();
    }
    this.#bytes += bytes;
    try {
      return await work(signal);
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
