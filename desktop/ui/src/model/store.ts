/** A value that can be watched, and rows that can be watched one by one. */

interface Readable<T> {
  readonly get: () => T;
  readonly subscribe: (listener: () => void) => () => void;
}

export class Store<T extends object> implements Readable<T> {
  #state: T;
  readonly #listeners = new Set<() => void>();

  constructor(initial: T) {
    this.#state = initial;
  }

  readonly get = (): T => this.#state;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Replaces some members, and notifies the watchers at once. */
  set(change: Partial<T>): void {
    this.#state = { ...this.#state, ...change };
    for (const listener of [...this.#listeners]) listener();
  }
}

/** Values by name, each watched separately: a change of one wakes only its watchers. */
export class Rows<T> {
  readonly #rows = new Map<string, T>();
  readonly #listeners = new Map<string, Set<() => void>>();

  get(name: string): T | undefined {
    return this.#rows.get(name);
  }

  get size(): number {
    return this.#rows.size;
  }

  set(name: string, row: T): void {
    if (this.#rows.get(name) === row) return;
    this.#rows.set(name, row);
    for (const listener of [...(this.#listeners.get(name) ?? [])]) listener();
  }

  delete(name: string): void {
    this.#rows.delete(name);
  }

  /** Drops all values without a watcher, except those to keep. */
  keep(wanted: (name: string) => boolean): void {
    for (const name of this.#rows.keys()) {
      if (!wanted(name) && !this.#listeners.has(name)) this.#rows.delete(name);
    }
  }

  subscribe(name: string, listener: () => void): () => void {
    const set = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, set.add(listener));
    return () => {
      set.delete(listener);
      if (set.size === 0) this.#listeners.delete(name);
    };
  }
}
