/** Sends requests to a hashing thread (`hash-worker.ts`), and waits for its answers. */

import { Worker } from 'node:worker_threads';
import { MillraceError } from '@millrace/shared/base/errors';
import type { HashReply, HashRequest, NumberedRequest } from './hash-worker.ts';

interface Waiting {
  resolve(hexes: readonly string[]): void;
  reject(error: Error): void;
}

export class HashThread {
  #worker: Worker | undefined;
  readonly #waiting = new Map<number, Waiting>();
  #nextId = 0;

  /**
   * Sends a request. The thread starts with the first request, and keeps the process alive only
   * while requests are open.
   *
   * @returns the result of the request, hexadecimal
   * @throws MillraceError `file-not-writable` if a file cannot be read; `internal` if the thread
   *   has ended
   */
  ask(request: HashRequest): Promise<readonly string[]> {
    this.#worker ??= this.#start();
    const worker = this.#worker;
    const id = this.#nextId++;
    const message: NumberedRequest = { id, request };
    worker.postMessage(message);
    if (this.#waiting.size === 0) worker.ref();
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }

  /** Ends the thread; open requests fail. */
  async close(): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
  }

  #start(): Worker {
    const worker = new Worker(new URL('./hash-worker.ts', import.meta.url), {
      // The thread holds one buffer and a few numbers.
      resourceLimits: { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 2 },
    });
    worker.unref();
    worker.on('message', ({ id, hexes = [], error }: HashReply) => {
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (this.#waiting.size === 0) worker.unref();
      if (error === undefined) waiting?.resolve(hexes);
      else waiting?.reject(new MillraceError('file-not-writable', error));
    });
    const end = (cause?: unknown) => {
      if (this.#worker === worker) this.#worker = undefined;
      for (const { reject } of this.#waiting.values()) {
        reject(new MillraceError('internal', 'the hashing thread has ended', { cause }));
      }
      this.#waiting.clear();
    };
    worker.on('error', end);
    worker.on('exit', () => end());
    return worker;
  }
}
