/**
 * Columns that are being solved, and those that have been: both take no more than a bounded memory, which
 * is given back as soon as nobody uses it.
 */

import { WaitingLine } from '../../base/waiting-line.ts';

interface Column<T> {
  readonly work: Promise<T>;
  readonly bytes: number;
  /** Ends the work once nobody waits for it any more. */
  readonly abort: AbortController;
  /** Number of callers that wait for the column, or read its solved blocks. */
  users: number;
  /** The solved blocks; undefined: they are being solved. */
  solved: { readonly value: T } | undefined;
  /** True once nobody can ask for it any more. */
  isForgotten: boolean;
}

/** A column that has been solved, for one user. */
export interface SolvedColumn<T> {
  readonly value: T;
  /** Ends this use of the value. */
  release(): void;
}

export interface SolvedColumnsOptions {
  /** Most bytes that are solved at a time; a column that is larger is solved alone. */
  readonly mostAtOnce: number;
  /** Most bytes of solved columns that are kept; the latest column always is. */
  readonly mostKept: number;
}

export interface SolvedColumnsPorts<T> {
  /** Returns true for a value that nobody will ask for. */
  readonly isUseless: (value: T) => boolean;
  /** Called with a value that is forgotten once its last user has ended: its memory is free. */
  readonly onFree: (value: T) => void;
}

export class SolvedColumns<T> {
  readonly #options: SolvedColumnsOptions & SolvedColumnsPorts<T>;
  /** Columns by name, the latest last. */
  readonly #columns = new Map<string, Column<T>>();
  readonly #waiting = new WaitingLine<() => void>();
  #bytes = 0;

  constructor(options: SolvedColumnsOptions & SolvedColumnsPorts<T>) {
    this.#options = options;
  }

  /**
   * Returns a column that is being solved, or has been; the promise gives undefined if it failed. Without
   * such a column, undefined is returned at once: a caller that then solves it without a pause is the only
   * one to do so. The caller releases the column.
   *
   * @throws the signal's reason
   */
  get(name: string, signal: AbortSignal): Promise<SolvedColumn<T> | undefined> | undefined {
    const column = this.#columns.get(name);
    return column && this.#joined(column, signal);
  }

  async #joined(column: Column<T>, signal: AbortSignal): Promise<SolvedColumn<T> | undefined> {
    const solved = await this.#wait(column, signal).catch(() => undefined);
    if (solved === undefined) signal.throwIfAborted();
    return solved;
  }

  /** Forgets the columns that nobody will ask for. */
  forgetUseless(): void {
    for (const [name, { solved }] of this.#columns) {
      if (solved !== undefined && this.#options.isUseless(solved.value)) this.#forget(name);
    }
  }

  /**
   * Solves a column once there is room for it. It goes on while anybody waits for it, here or in `get`:
   * of several requests for one block, the first may end before the others. The caller releases the column.
   *
   * @param bytes that are solved
   * @throws what `work` throws; the signal's reason
   */
  async solve(
    name: string,
    bytes: number,
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<SolvedColumn<T>> {
    const abort = new AbortController();
    const solving = this.#inTurn(bytes, abort.signal, work);
    const rest = { users: 0, solved: undefined, isForgotten: false };
    const column: Column<T> = { work: solving, bytes, abort, ...rest };
    this.#forget(name);
    this.#columns.set(name, column);
    const forget = () => {
      if (this.#columns.get(name) === column) this.#forget(name);
    };
    abort.signal.addEventListener('abort', forget, { once: true });
    solving.then((value) => {
      column.solved = { value };
      this.#freeUnused(column);
      this.#drop();
    }, forget);
    return this.#wait(column, signal);
  }

  async #wait(column: Column<T>, signal: AbortSignal): Promise<SolvedColumn<T>> {
    const { promise: left, reject } = Promise.withResolvers<never>();
    column.users++;
    let isUsed = true;
    const release = () => {
      if (!isUsed) return;
      isUsed = false;
      if (--column.users === 0 && column.solved === undefined) column.abort.abort(signal.reason);
      this.#freeUnused(column);
    };
    const leave = () => {
      reject(signal.reason);
      release();
    };
    signal.addEventListener('abort', leave, { once: true });
    if (signal.aborted) leave();
    try {
      const value = await Promise.race([column.work, left]);
      // The signal may have aborted since the column was solved.
      signal.throwIfAborted();
      return { value, release };
    } catch (error) {
      release();
      throw error;
    } finally {
      signal.removeEventListener('abort', leave);
    }
  }

  #forget(name: string): void {
    const column = this.#columns.get(name);
    if (column === undefined) return;
    this.#columns.delete(name);
    column.isForgotten = true;
    this.#freeUnused(column);
  }

  #freeUnused({ solved, users, isForgotten }: Column<T>): void {
    if (isForgotten && users === 0 && solved !== undefined) this.#options.onFree(solved.value);
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
    const done = [...this.#columns].filter(([, { solved }]) => solved !== undefined);
    let bytes = done.reduce((sum, [, column]) => sum + column.bytes, 0);
    for (const [name, column] of done.slice(0, -1)) {
      if (bytes <= this.#options.mostKept) return;
      this.#forget(name);
      bytes -= column.bytes;
    }
  }
}
