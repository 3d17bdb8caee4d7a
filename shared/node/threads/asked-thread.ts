/** Sends requests to a thread (`thread-answers.ts`), which answers them in order. */

import type { Transferable, Worker } from 'node:worker_threads';
import { MillraceError } from '../../src/base/errors.ts';
import type { NumberedRequest, ThreadReply } from './thread-answers.ts';

interface Waiting<Answer> {
  resolve(answer: Answer): void;
  reject(error: Error): void;
}

export class AskedThread<Request, Answer> {
  readonly #make: () => Worker;
  readonly #failure: (why: string) => MillraceError;
  #worker: Worker | undefined;
  readonly #waiting = new Map<number, Waiting<Answer>>();
  #nextId = 0;

  /**
   * @param make starts the thread
   * @param failure makes the error of a request that the thread could not carry out
   */
  constructor(make: () => Worker, failure: (why: string) => MillraceError) {
    this.#make = make;
    this.#failure = failure;
  }

  /**
   * Sends a request. The thread starts with the first request, and keeps the process alive only
   * while requests are open.
   *
   * @param moved memory in the request that belongs to the thread from now on
   * @throws MillraceError that of `failure`; `internal` if the thread has ended
   */
  ask(request: Request, moved: readonly Transferable[] = []): Promise<Answer> {
    this.#worker ??= this.#start();
    const worker = this.#worker;
    const id = this.#nextId++;
    worker.postMessage({ id, request } satisfies NumberedRequest<Request>, moved);
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
    const worker = this.#make();
    worker.unref();
    worker.on('message', ({ id, answer, error }: ThreadReply<Answer>) => {
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (this.#waiting.size === 0) worker.unref();
      if (error === undefined) waiting?.resolve(answer as Answer);
      else waiting?.reject(this.#failure(error));
    });
    const end = (cause?: unknown) => {
      if (this.#worker === worker) this.#worker = undefined;
      for (const { reject } of this.#waiting.values()) {
        reject(new MillraceError('internal', 'a thread has ended', { cause }));
      }
      this.#waiting.clear();
    };
    worker.on('error', end);
    worker.on('exit', () => end());
    return worker;
  }
}
