/**
 * The shell around the agent's state machine: carries out what `Transfer` orders, fetching chunks
 * from the store and writing them to the client's socket, and reports back.
 */

import type { ServerResponse } from 'node:http';
import type { Millis, Random } from '@millrace/shared/base/clock';
import { asMillraceError } from '@millrace/shared/base/errors';
import { BUFFER_BYTES_PER_CLIENT } from '@millrace/shared/base/limits';
import { chunkRange } from '@millrace/shared/cdn/chunk-plan';
import { RetryTimer } from '@millrace/shared/cdn/retry-timer';
import { Transfer, type TransferAction } from '@millrace/shared/cdn/transfer';
import { CongestionWindow } from '@millrace/shared/cdn/window';
import type { LinkGrant } from '@millrace/shared/node/link-signature';
import type { Chunk } from '../cache/chunk.ts';
import type { ChunkRequest, ChunkStore, Found } from '../cache/chunk-store.ts';
import type { FileVersion } from '../cache/file-version.ts';
import { INGRESS } from '../peers/path.ts';
import type { Admission } from '../policy/client-limits.ts';
import type { BodyPlan } from './response-head.ts';

export interface DeliveryOptions {
  readonly res: ServerResponse;
  readonly version: FileVersion;
  /** Where the origin's redirects led. */
  readonly directUrl: string | undefined;
  /** Of the signed link that the client has come by. */
  readonly grant: LinkGrant | undefined;
  readonly plan: BodyPlan;
  readonly chunkBytes: number;
  readonly store: ChunkStore;
  readonly admission: Admission;
  /** Aborted when the client is gone or the node shuts down. */
  readonly signal: AbortSignal;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
  readonly random: Random;
  /** False while the node's memory is short. */
  readonly spare: () => boolean;
  /** Sends status line and header; called once, with the first chunk in hand. */
  readonly begin: (first: Found) => Promise<void> | void;
  readonly observe: DeliveryObserver;
}

/** Figures of deliveries. */
export interface DeliveryObserver {
  /** @param index of the chunk in the file */
  chunk(found: Found, index: number): void;
  retry(): void;
  window(chunks: number): void;
  /** Body bytes handed to the client's socket. */
  sent(bytes: number): void;
}

export class Delivery {
  readonly #o: DeliveryOptions;
  readonly #transfer: Transfer;
  readonly #window: CongestionWindow;
  /** Chunks in hand, by slice. */
  readonly #found = new Map<number, Found>();
  readonly #attempts = new Map<string, AbortController>();
  #sends: Promise<void> = Promise.resolve();
  #begun = false;
  #timer: NodeJS.Timeout | undefined;
  #timerAt = Number.POSITIVE_INFINITY;
  #advancing = false;
  #settled = false;
  #resolve: () => void = () => {};
  #reject: (error: unknown) => void = () => {};

  constructor(options: DeliveryOptions) {
    this.#o = options;
    this.#window = new CongestionWindow({ max: BUFFER_BYTES_PER_CLIENT / options.chunkBytes });
    this.#transfer = new Transfer({
      slices: options.plan.slices.count,
      inOrder: options.plan.inOrder,
      window: this.#window,
      timer: new RetryTimer(),
      random: options.random,
      spare: options.spare,
      progressAt: (slice) => options.store.progressAt(this.#request(slice)),
    });
  }

  /**
   * Sends the body.
   *
   * @returns resolves when the client's socket has taken every byte
   * @throws MillraceError when a chunk cannot be had; the signal's reason when that aborts
   */
  run(): Promise<void> {
    const { signal } = this.#o;
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      if (signal.aborted) return this.#settle(() => reject(signal.reason));
      signal.addEventListener('abort', () => this.#settle(() => reject(signal.reason)), {
        once: true,
      });
      this.#advance();
    });
  }

  #advance(): void {
    if (this.#advancing || this.#settled) return;
    this.#advancing = true;
    // Chunks that are in memory are reported at once, which may call for more steps.
    for (;;) {
      const actions = this.#transfer.step(this.#o.now());
      if (actions.length === 0) break;
      for (const action of actions) this.#carryOut(action);
    }
    this.#advancing = false;
    this.#schedule();
  }

  #carryOut(action: TransferAction): void {
    switch (action.kind) {
      case 'fetch':
        return this.#fetch(action.slice, action.attempt);
      case 'cancel':
        return this.#cancel(action.slice, action.attempt);
      case 'send':
        // One after the other: a slice that waits for its turn must not be overtaken.
        this.#sends = this.#sends
          .then(() => this.#send(action.slice))
          .catch((error) => this.#fail(error));
        return;
      case 'done':
        return this.#settle(this.#resolve);
      case 'fail':
        return this.#fail(action.error);
    }
  }

  #fetch(slice: number, attempt: number): void {
    const { store, now, observe } = this.#o;
    const request = this.#request(slice);
    const chunk = store.peek(request);
    if (chunk !== undefined) {
      return this.#fetched(slice, attempt, { chunk, tier: 'memory', joined: false });
    }
    if (attempt > 0) {
      observe.retry();
      store.hedge(request);
    }
    const controller = new AbortController();
    this.#attempts.set(`${slice}.${attempt}`, controller);
    store.get(request, controller.signal).then(
      (found) => {
        if (!this.#attempts.delete(`${slice}.${attempt}`)) return found.chunk.release();
        this.#fetched(slice, attempt, found);
        this.#advance();
      },
      (error: unknown) => {
        if (!this.#attempts.delete(`${slice}.${attempt}`)) return;
        this.#transfer.onFailed(slice, attempt, asMillraceError(error), now());
        this.#advance();
      },
    );
  }

  #fetched(slice: number, attempt: number, found: Found): void {
    const { now, observe, admission } = this.#o;
    observe.chunk(found, this.#o.plan.slices.at(slice).chunk);
    const { tier, joined, chunk } = found;
    if (!joined && (tier === 'source' || tier === 'peer')) admission.fetched(chunk.data.length);
    observe.window(this.#window.size);
    if (this.#found.has(slice)) return found.chunk.release();
    this.#found.set(slice, found);
    const actions = this.#transfer.onFetched(slice, attempt, now(), found.tier === 'memory');
    for (const action of actions) this.#carryOut(action);
  }

  #cancel(slice: number, attempt: number): void {
    const key = `${slice}.${attempt}`;
    const controller = this.#attempts.get(key);
    this.#attempts.delete(key);
    controller?.abort(new Error('no longer wanted'));
  }

  async #send(slice: number): Promise<void> {
    const { plan, res, admission, now, signal, observe } = this.#o;
    const found = this.#found.get(slice);
    this.#found.delete(slice);
    if (found === undefined) return; // settled meanwhile
    try {
      if (!this.#begun) await this.#o.begin(found);
    } catch (error) {
      found.chunk.release();
      throw error;
    }
    this.#begun = true;
    for (let wait = admission.waitMs(now()); wait > 0; wait = admission.waitMs(now())) {
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
    if (signal.aborted || this.#settled) return found.chunk.release();
    const partRange = plan.inOrder
      ? plan.slices.rangeBeginningAt(slice)
      : plan.slices.at(slice).range;
    if (plan.parts !== undefined && partRange !== undefined) {
      res.write(plan.parts.partHeader(partRange), 'latin1');
    }
    const bytes = this.#bytesOf(found.chunk, slice);
    admission.sent(bytes.length, now());
    observe.sent(bytes.length);
    res.write(bytes, (error) => {
      found.chunk.release();
      // An error means that the client is gone, which the signal says as well.
      if (error != null || this.#settled) return;
      this.#transfer.onSent(slice);
      this.#advance();
    });
  }

  #bytesOf(chunk: Chunk, slice: number): Buffer {
    const { range, chunk: index } = this.#o.plan.slices.at(slice);
    const start = index * this.#o.chunkBytes;
    return chunk.data.subarray(range.start - start, range.end - start);
  }

  #request(slice: number): ChunkRequest {
    const { version, directUrl, grant, chunkBytes, plan } = this.#o;
    const { chunk } = plan.slices.at(slice);
    return { version, directUrl, grant, range: chunkRange(chunk, chunkBytes, version.length) };
  }

  /** Sets the timer for the machine's next deadline, unless one is set for an earlier time. */
  #schedule(): void {
    const at = this.#transfer.nextDeadline();
    if (at === undefined || this.#settled) return;
    if (this.#timer !== undefined && this.#timerAt <= at) return;
    clearTimeout(this.#timer);
    this.#timerAt = at;
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        // If this process was held up, what has come in meanwhile is still in the sockets: let it
        // be read before anything is judged late.
        setImmediate(() => this.#advance());
      },
      Math.max(0, at - this.#o.now()),
    );
  }

  /** What has come of chunks that nobody will take has been fetched all the same. */
  #countAbandoned(): void {
    const slices = new Set([...this.#attempts.keys()].map((key) => Number.parseInt(key, 10)));
    for (const slice of slices) {
      const request = this.#request(slice);
      const bytes = request.range.end - request.range.start;
      this.#o.admission.fetched(this.#o.store.share(request, INGRESS) * bytes);
    }
  }

  #fail(error: unknown): void {
    this.#settle(() => this.#reject(error));
  }

  #settle(how: () => void): void {
    if (this.#settled) return;
    this.#settled = true;
    clearTimeout(this.#timer);
    this.#countAbandoned();
    for (const controller of this.#attempts.values()) controller.abort(new Error('response ended'));
    this.#attempts.clear();
    for (const { chunk } of this.#found.values()) chunk.release();
    this.#found.clear();
    how();
  }
}
