/**
 * The shell around the agent's state machine: fetches the chunks that `DeliveryMachine` orders from the
 * store, writes them to the client's socket, and reports back.
 */

import type { ServerResponse } from 'node:http';
import type { ByteRange } from '@millrace/shared/base/byte-range';
import type { Millis, Random } from '@millrace/shared/base/clock';
import { BUFFER_BYTES_PER_CLIENT } from '@millrace/shared/base/limits';
import { chunkRange } from '@millrace/shared/cdn/chunks/chunk-plan';
import { DeliveryDriver } from '@millrace/shared/cdn/delivery/delivery-driver';
import { RetryTimer } from '@millrace/shared/cdn/delivery/retry-timer';
import { CongestionWindow, firstWindow } from '@millrace/shared/cdn/delivery/window';
import type { LinkGrant } from '@millrace/shared/node/link-signature';
import type { Admission } from '../admission/client-limits.ts';
import { writeLoaned } from '../clients/loaned-write.ts';
import type { Chunk } from '../files/chunk.ts';
import type { ChunkRequest } from '../files/chunk-request.ts';
import type { FileVersion } from '../files/file-version.ts';
import { INGRESS } from '../files/path.ts';
import { type ChunkStore, type Found, inMemoryAlready } from './chunk-store.ts';
import type { BodyPlan } from './response-head.ts';

export interface DeliveryOptions {
  readonly res: ServerResponse;
  readonly version: FileVersion;
  /** URL that the origin's redirects led to. */
  readonly directUrl: string | undefined;
  /** Grant of the signed link that the client has used. */
  readonly grant: LinkGrant | undefined;
  /** `traceparent` for requests that follow. */
  readonly trace?: string | undefined;
  /** The client for which the origin is asked. */
  readonly client: string;
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
  /** True to wait instead of failing when there is no memory for a chunk. */
  readonly waitsForMemory: () => boolean;
  /** Sends status line and header; called once, with the first chunk in hand. */
  readonly begin: (first: Found) => Promise<void> | void;
  readonly observe: DeliveryObserver;
}

/** Figures of deliveries. */
interface DeliveryObserver {
  /** @param index of the chunk in the file */
  chunk(found: Found, index: number): void;
  /** @param attempt 1 for the first retry of a chunk */
  retry(attempt: number): void;
  window(chunks: number): void;
  /** Body bytes handed to the client's socket. */
  sent(bytes: number): void;
  /** Bytes of the file that the kernel has taken for the client. */
  taken(range: ByteRange): void;
}

export class Delivery {
  readonly #options: DeliveryOptions;
  readonly #driver: DeliveryDriver;
  readonly #window: CongestionWindow;
  /** Chunks in hand, by slice. */
  readonly #found = new Map<number, Found>();
  /** Chunks that were handed to the client's socket and not taken yet, one for each write. */
  readonly #writing = new Set<{ readonly chunk: Chunk }>();
  #sends: Promise<void> = Promise.resolve();
  #begun = false;
  #endPause: () => void = () => {};
  #resolve: () => void = () => {};
  #reject: (error: unknown) => void = () => {};

  constructor(options: DeliveryOptions) {
    this.#options = options;
    const { plan, random, spare, waitsForMemory, store, now, chunkBytes } = options;
    const max = BUFFER_BYTES_PER_CLIENT / chunkBytes;
    this.#window = new CongestionWindow({ max, initial: firstWindow(chunkBytes) });
    this.#driver = new DeliveryDriver(
      {
        slices: plan.slices.count,
        inOrder: plan.inOrder,
        window: this.#window,
        timer: new RetryTimer(),
        random,
        spare,
        waitsForMemory,
        hasBegun: () => this.#begun,
        progressAt: (slice) => store.progressAt(this.#request(slice)),
      },
      {
        now,
        at: (time, run) => this.#at(time, run),
        fetch: (slice, attempt) => this.#fetch(slice, attempt),
        // One after the other: a slice that waits for its turn must not be overtaken.
        send: (slice) => {
          this.#sends = this.#sends
            .then(() => this.#send(slice))
            .catch((error) => this.#settle(() => this.#reject(error)));
        },
        ended: (error) => {
          this.#clear();
          if (error === undefined) this.#resolve();
          else this.#reject(error);
        },
      },
    );
  }

  /**
   * Sends the body.
   *
   * @returns resolves when the client's socket has taken every byte
   * @throws MillraceError when a chunk cannot be fetched; the signal's reason when that aborts
   */
  run(): Promise<void> {
    const { signal } = this.#options;
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      if (signal.aborted) return this.#settle(() => reject(signal.reason));
      signal.addEventListener('abort', () => this.#settle(() => reject(signal.reason)), {
        once: true,
      });
      this.#driver.advance();
    });
  }

  /** Bytes of memory that would be free without this delivery; of a shared chunk, its part. */
  get heldBytes(): number {
    let bytes = 0;
    for (const { chunk } of this.#writing) bytes += chunk.data.length / Math.max(1, chunk.users);
    for (const { chunk } of this.#found.values()) {
      bytes += chunk.data.length / Math.max(1, chunk.users);
    }
    for (const slice of this.#driver.fetching()) {
      const { range } = this.#request(slice);
      const begun = this.#options.store.share(this.#request(slice), INGRESS) > 0;
      if (begun) bytes += range.end - range.start;
    }
    return bytes;
  }

  #fetch(slice: number, attempt: number): () => void {
    const { store, observe } = this.#options;
    const request = this.#request(slice);
    const chunk = store.peek(request);
    if (chunk !== undefined) {
      this.#fetched(slice, attempt, inMemoryAlready(chunk));
      return () => {};
    }
    if (attempt > 0) {
      observe.retry(attempt);
      store.hedge(request);
    }
    const controller = new AbortController();
    store.get(request, controller.signal).then(
      (found) => {
        if (this.#driver.wants(slice, attempt)) this.#fetched(slice, attempt, found);
        else found.chunk.release();
      },
      (error: unknown) => this.#driver.failed(slice, attempt, error),
    );
    return () => controller.abort(new Error('no longer wanted'));
  }

  #fetched(slice: number, attempt: number, found: Found): void {
    const { observe, admission, plan } = this.#options;
    observe.chunk(found, plan.slices.at(slice).chunk);
    const { tier, joined, chunk } = found;
    if (!joined && (tier === 'source' || tier === 'peer')) admission.fetched(chunk.data.length);
    this.#found.set(slice, found);
    this.#driver.fetched(slice, attempt, tier === 'memory', found.overtaken);
    // After the driver, so that the figure shows what this chunk has done to the window.
    observe.window(this.#window.size);
  }

  async #send(slice: number): Promise<void> {
    const { plan, res, admission, now, signal, observe } = this.#options;
    const found = this.#found.get(slice);
    this.#found.delete(slice);
    if (found === undefined) return; // settled meanwhile
    try {
      if (!this.#begun) await this.#options.begin(found);
    } catch (error) {
      found.chunk.release();
      throw error;
    }
    this.#begun = true;
    for (let wait = admission.waitMs(now()); wait > 0; wait = admission.waitMs(now())) {
      await this.#pause(wait);
      // The end of the delivery has ended the pause as well.
      if (this.#driver.over) break;
    }
    if (signal.aborted || this.#driver.over) return found.chunk.release();
    const partRange = plan.inOrder
      ? plan.slices.rangeBeginningAt(slice)
      : plan.slices.at(slice).range;
    if (plan.parts !== undefined && partRange !== undefined) {
      res.write(plan.parts.partHeader(partRange), 'latin1');
    }
    const bytes = this.#bytesOf(found.chunk, slice);
    admission.sent(bytes.length, now());
    observe.sent(bytes.length);
    const write = { chunk: found.chunk };
    this.#writing.add(write);
    writeLoaned(res, bytes, (error) => {
      this.#writing.delete(write);
      found.chunk.release();
      // An error means that the client is gone, which the signal says as well.
      if (error != null) return;
      observe.taken(plan.slices.at(slice).range);
      this.#driver.sent(slice);
    });
  }

  /**
   * Waits, but at most until the delivery ends: otherwise a client that has left would keep the
   * chunk in hand.
   */
  #pause(ms: Millis): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #bytesOf(chunk: Chunk, slice: number): Buffer {
    const { range, chunk: index } = this.#options.plan.slices.at(slice);
    const start = index * this.#options.chunkBytes;
    return chunk.data.subarray(range.start - start, range.end - start);
  }

  #request(slice: number): ChunkRequest {
    const { version, directUrl, grant, client, trace, chunkBytes, plan } = this.#options;
    const { chunk } = plan.slices.at(slice);
    return {
      version,
      directUrl,
      grant,
      trace,
      client,
      range: chunkRange(chunk, chunkBytes, version.length),
    };
  }

  #at(time: Millis, run: () => void): () => void {
    // If this process was held up, bytes that came in meanwhile are still in the sockets: they are
    // read before anything is judged late.
    const later = () => setImmediate(run);
    const timer = setTimeout(later, Math.max(0, time - this.#options.now()));
    return () => clearTimeout(timer);
  }

  #settle(how: () => void): void {
    if (this.#driver.over) return;
    this.#clear();
    this.#driver.end();
    how();
  }

  #clear(): void {
    // Parts of chunks were fetched for this client, even if no client will take them.
    for (const slice of this.#driver.fetching()) {
      const request = this.#request(slice);
      const bytes = request.range.end - request.range.start;
      this.#options.admission.fetched(this.#options.store.share(request, INGRESS) * bytes);
    }
    for (const { chunk } of this.#found.values()) chunk.release();
    this.#found.clear();
    this.#endPause();
  }
}
