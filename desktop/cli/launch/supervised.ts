/** Starts a process again when it ends unexpectedly, for as long as that seems to help. */

import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEnd, type Ends } from '@millrace/shared/base/restart-policy';

export interface SupervisedOptions {
  /** Name of the process, as it begins a sentence. */
  readonly name: string;
  /** The running process; undefined if it could not be started. */
  readonly first: ChildProcess;
  /**
   * Starts the process again; resolves when it can be used.
   *
   * @param attempt from 1, counted since the process was last seen running
   */
  readonly again: (attempt: number) => Promise<ChildProcess | undefined>;
  /** Line to print once the process runs again. */
  readonly back: string;
  /** Shows a line to the user. */
  readonly say: (line: string) => void;
}

export class Supervised {
  readonly #options: SupervisedOptions;
  readonly #stopping = new AbortController();
  #child: ChildProcess | undefined;
  /** Resolves with the exit status when the process has ended for good. */
  readonly ended: Promise<number>;

  constructor(options: SupervisedOptions) {
    this.#options = options;
    this.#child = options.first;
    this.ended = this.#run();
  }

  /** Ends the process for good. */
  stop(): void {
    this.#stopping.abort();
    this.#child?.kill('SIGTERM');
  }

  async #run(): Promise<number> {
    let ends: Ends = [];
    let attempt = 0;
    for (;;) {
      const status = await statusOf(this.#child);
      if (this.#child !== undefined) attempt = 0;
      // A process that exits with 0 was asked to end.
      if (status === 0 || this.#stopped) return status;
      const after = afterEnd(ends, performance.now());
      ends = after.ends;
      const { name, say, again, back } = this.#options;
      if (after.next.kind === 'give-up') {
        say(`${name} keeps ending unexpectedly, and is not started again. Its log says why.`);
        return status;
      }
      const how = this.#child?.signalCode ? ` (${this.#child.signalCode})` : '';
      say(`${name} has ended unexpectedly${how}. Starting it again ...`);
      await sleep(after.next.afterMs, undefined, { signal: this.#stopping.signal }).catch(() => {});
      if (this.#stopped) return status;
      this.#child = await again(++attempt);
      // `stop` may have been called while the process was starting.
      if (this.#stopped) this.#child?.kill('SIGTERM');
      else if (this.#child !== undefined) say(back);
    }
  }

  get #stopped(): boolean {
    return this.#stopping.signal.aborted;
  }
}

async function statusOf(child: ChildProcess | undefined): Promise<number> {
  if (child === undefined) return 1;
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return child.exitCode ?? 1;
}
