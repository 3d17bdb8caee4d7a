/**
 * Turns by key: each key has a bounded number at a time, and further callers wait in order of
 * arrival.
 */

import { WaitingLine } from './waiting-line.ts';

interface Line {
  running: number;
  readonly waiting: WaitingLine<() => void>;
}

export class Turns {
  readonly #max: number;
  readonly #lines = new Map<string, Line>();

  /** @param max turns of one key at a time, at least 1 */
  constructor(max: number) {
    this.#max = max;
  }

  /** Keys with turns under way. */
  get size(): number {
    return this.#lines.size;
  }

  /**
   * Waits for a turn.
   *
   * @returns a function that ends the turn; further calls do nothing
   * @throws the signal's reason
   */
  async take(key: string, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    const line = this.#lines.get(key) ?? { running: 0, waiting: new WaitingLine() };
    this.#lines.set(key, line);
    if (line.running < this.#max) line.running++;
    else await wait(line, signal);
    let over = false;
    return () => {
      if (over) return;
      over = true;
      this.#end(key, line);
    };
  }

  #end(key: string, line: Line): void {
    // The next in line takes over the turn, so no newcomer can slip in before it.
    const next = line.waiting.take();
    if (next !== undefined) next();
    else if (--line.running === 0) this.#lines.delete(key);
  }
}

function wait(line: Line, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onTurn = () => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    };
    const onAbort = () => {
      line.waiting.delete(onTurn);
      reject(signal.reason);
    };
    line.waiting.add(onTurn);
    signal.addEventListener('abort', onAbort, { once: true });
  });
}
