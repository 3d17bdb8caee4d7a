/**
 * Starts the work of several programs at the same moment, although they were launched one by one.
 */

import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';

export class Gate {
  readonly #waiting: { readonly child: ChildProcess; readonly ready: Promise<unknown> }[] = [];
  readonly #opened: Promise<void>;
  #open: () => void = () => {};

  constructor() {
    this.#opened = new Promise((resolve) => {
      this.#open = resolve;
    });
  }

  /**
   * Waits until the gate is open, then tells a program to begin.
   *
   * @param tells true if the program reports on descriptor 4 that it is ready
   * @returns time of the start in milliseconds of `performance.now()`
   */
  async passed(child: ChildProcess, tells: boolean): Promise<number> {
    const exit = once(child, 'exit');
    const ready = tells
      ? Promise.race([once(child.stdio[4] as NodeJS.ReadableStream, 'data'), exit])
      : Promise.resolve();
    this.#waiting.push({ child, ready });
    await this.#opened;
    const now = performance.now();
    // A process that has ended meanwhile no longer reads.
    child.stdin?.on('error', () => {});
    child.stdin?.write('begin\n');
    return now;
  }

  /** Resolves when all programs that wait at the gate are ready. */
  async ready(): Promise<void> {
    await Promise.all(this.#waiting.map(({ ready }) => ready));
  }

  /** Opens the gate once all programs are ready. */
  async open(): Promise<void> {
    await this.ready();
    this.#open();
  }
}
