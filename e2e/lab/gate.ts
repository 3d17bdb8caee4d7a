/** Lets programs begin together that have been started one after the other. */

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
   * Waits until the gate is open for a program.
   *
   * @param tells the program tells on descriptor 4 when it is ready to begin
   * @returns when the program was told to begin, in milliseconds of `performance.now()`
   */
  async passed(child: ChildProcess, tells: boolean): Promise<number> {
    const exit = once(child, 'exit');
    const ready = tells
      ? Promise.race([once(child.stdio[4] as NodeJS.ReadableStream, 'data'), exit])
      : Promise.resolve();
    this.#waiting.push({ child, ready });
    await this.#opened;
    const now = performance.now();
    // A process that has ended meanwhile reads nothing any more.
    child.stdin?.on('error', () => {});
    child.stdin?.write('begin\n');
    return now;
  }

  /** Resolves when all programs are ready that have been told to wait at it. */
  async ready(): Promise<void> {
    await Promise.all(this.#waiting.map(({ ready }) => ready));
  }

  /** Opens it when they are. */
  async open(): Promise<void> {
    await this.ready();
    this.#open();
  }
}
