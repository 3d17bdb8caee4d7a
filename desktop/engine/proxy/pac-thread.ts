/** Asks a proxy auto-configuration script (PAC), which runs in a thread of its own. */

import { lookup } from 'node:dns/promises';
import { Worker } from 'node:worker_threads';
import type { Millis } from '@millrace/shared/base/clock';
import type { PacData, PacQuestion, PacReply } from './pac-worker.ts';

/**
 * Longest time for an answer, start and look-ups of names included; the thread is ended after it. It is
 * long, because without an answer nothing can be requested, and a busy machine is slow.
 */
const ANSWER_MS: Millis = 30_000;
/** Bytes of memory for an address that was looked up: two numbers, and a text. */
const FOUND_BYTES = 8 + 64;

interface Waiting {
  resolve(answer: string): void;
  reject(error: Error): void;
  readonly late: NodeJS.Timeout;
}

export class PacThread {
  readonly #script: string;
  readonly #answerMs: Millis;
  #worker: Worker | undefined;
  readonly #waiting = new Map<number, Waiting>();
  #nextId = 0;

  /** @param answerMs longest time for an answer, in milliseconds */
  constructor(script: string, answerMs = ANSWER_MS) {
    this.#script = script;
    this.#answerMs = answerMs;
  }

  /**
   * Asks the script for the way to a URL. The thread starts with the first question, and keeps the
   * process alive only while questions are open.
   *
   * @throws Error if the script fails, is endless, or takes too much memory
   */
  find(url: string): Promise<string> {
    this.#worker ??= this.#start();
    const worker = this.#worker;
    const id = this.#nextId++;
    if (this.#waiting.size === 0) worker.ref();
    const question: PacQuestion = { id, url, host: new URL(url).hostname };
    worker.postMessage(question);
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => {
        this.#fail(worker, new Error('the script does not answer in time'));
      }, this.#answerMs);
      this.#waiting.set(id, { resolve, reject, late });
    });
  }

  /** Ends the thread; open questions fail. */
  close(): void {
    if (this.#worker !== undefined) this.#fail(this.#worker, new Error('not wanted any more'));
  }

  #start(): Worker {
    const found = new SharedArrayBuffer(FOUND_BYTES);
    const workerData: PacData = { script: this.#script, found };
    const worker = new Worker(new URL('./pac-worker.ts', import.meta.url), {
      workerData,
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: 48, maxYoungGenerationSizeMb: 4 },
    });
    worker.unref();
    worker.on('message', (reply: PacReply) => {
      if ('lookup' in reply) return void tellAddress(reply.lookup, found);
      const { id } = reply;
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      clearTimeout(waiting?.late);
      if (this.#waiting.size === 0) worker.unref();
      if ('error' in reply) waiting?.reject(new Error(reply.error));
      else waiting?.resolve(reply.answer);
    });
    worker.on('error', (error) => this.#fail(worker, error as Error));
    worker.on('exit', () => this.#fail(worker, new Error('the script has ended its thread')));
    return worker;
  }

  #fail(worker: Worker, error: Error): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    void worker.terminate();
    for (const { reject, late } of this.#waiting.values()) {
      clearTimeout(late);
      reject(error);
    }
    this.#waiting.clear();
  }
}

/** Looks a name up, and lets the script go on. */
async function tellAddress(host: string, found: SharedArrayBuffer): Promise<void> {
  const state = new Int32Array(found, 0, 2);
  const address = await lookup(host, { family: 4 }).then(
    (known) => Buffer.from(known.address),
    () => Buffer.alloc(0),
  );
  new Uint8Array(found, 8).set(address.subarray(0, FOUND_BYTES - 8));
  Atomics.store(state, 1, address.length);
  Atomics.store(state, 0, 1);
  Atomics.notify(state, 0);
}
