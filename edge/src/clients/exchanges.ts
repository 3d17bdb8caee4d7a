/** The requests of clients that are under way: counted, drained, sent elsewhere, cut off. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RangeSet } from '@millrace/shared/base/byte-range';
import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import type { RefusalOutcome } from '@millrace/shared/cdn/admission/refusal-log';
import { chooseOffload } from '@millrace/shared/cdn/clients/offload';
import { chooseSlowest, ReaderPace } from '@millrace/shared/cdn/clients/slow-readers';
import { chooseWaiting } from '@millrace/shared/cdn/clients/waiting-transfers';
import type { LinkGrant } from '@millrace/shared/node/link-signature';
import type { Admission } from '../admission/client-limits.ts';
import type { Metrics } from '../figures/metrics.ts';
import type { Scope } from '../files/file-version.ts';
import { STREAM_BYTES, TRANSFER_BYTES, TUNNEL_BYTES } from '../memory/process-weights.ts';
import { resetResponse, setPatience, streamOf, untakenBytes } from './connection.ts';
import { requestBytes } from './request-weights.ts';
import type { Span } from './trace.ts';

/** One request under way. */
export interface Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly controller: AbortController;
  admission: Admission;
  /** Address of the client, as far as it is known. */
  readonly client: string;
  /** Key of the client that it counts for. */
  readonly clientKey: string;
  readonly startedAt: Millis;
  /** The request's place in a trace, if it has one. */
  readonly span?: Span | undefined;
  kind: 'file' | 'tunnel' | 'depot' | 'error';
  /** Grant of the signed link that the client has used. */
  grant?: LinkGrant;
  /** Audience of the request; undefined: public. */
  scope?: Scope;
  url: URL | undefined;
  /** Bytes of the file that the client has taken; undefined while there are none. */
  taken?: TakenOfFile;
  /** Body bytes sent, and their total. */
  sentBytes: number;
  bodyBytes: number;
  /** Memory that its body takes beside the socket, bytes; undefined: none. */
  heldBytes?: () => number;
  /** Pace at which the client takes the body; undefined while it is not measured. */
  pace?: ReaderPace | undefined;
  /** True if the client has said that it continues elsewhere after a reset. */
  readonly aware: boolean;
  /** True if another process of this edge has the client's connection, and counts the exchange. */
  readonly isRelayed?: boolean;
}

/** Bytes that a client has taken of one version of a file. */
interface TakenOfFile {
  /** Tells versions of the file apart. */
  readonly version: string;
  /** Bytes of the file; undefined: unknown. */
  length: number | undefined;
  /** Ranges that the kernel has taken for the client. */
  readonly ranges: RangeSet;
}

/**
 * Time without one byte taken after which a client is cut off; the shorter one is for when clients
 * that take nothing hold memory that others need.
 */
const PATIENCE_MS = 120_000;
const SHORT_PATIENCE_MS = 10_000;

type OnShort = (outcome: RefusalOutcome, client: string) => void;

export class Exchanges {
  readonly #metrics: Metrics;
  readonly #running = new Set<Exchange>();
  #bytes = 0;
  #relayed = 0;
  #draining = false;
  #leaving = false;
  #pressed = false;
  readonly #onDrain: (() => void)[] = [];
  #idle: (() => void)[] = [];

  #observed = false;
  readonly #onShort: OnShort;

  /** @param onShort called for each client that loses a transfer because memory is short */
  constructor(metrics: Metrics, onShort: OnShort = () => {}) {
    this.#metrics = metrics;
    this.#onShort = onShort;
  }

  add(exchange: Exchange): void {
    this.#running.add(exchange);
    this.#bytes += transferBytes(exchange.res);
    if (exchange.isRelayed === true) this.#relayed++;
  }

  /** Removes an exchange that is over. */
  delete(exchange: Exchange): void {
    if (this.#running.delete(exchange)) {
      this.#bytes -= transferBytes(exchange.res);
      if (exchange.isRelayed === true) this.#relayed--;
    }
    if (this.#running.size === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }

  /** Exchanges under way, without those of clients of other processes. */
  get running(): number {
    return this.#running.size - this.#relayed;
  }

  /** Weight of all exchanges, besides that of their requests and bodies, bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  get draining(): boolean {
    return this.#draining;
  }

  /** True while clients are to come here: false already before the edge turns them away. */
  get takesClients(): boolean {
    return !this.#draining && !this.#leaving;
  }

  /** Sets whether the edge is about to drain: it still serves everybody, but nobody is to come. */
  setLeaving(leaving: boolean): void {
    this.#leaving = leaving;
  }

  /** Longest time for which a client may take nothing. */
  get patienceMs(): Millis {
    return this.#pressed ? SHORT_PATIENCE_MS : PATIENCE_MS;
  }

  /** Sets whether clients that take nothing hold memory that others need. */
  setPressed(pressed: boolean): void {
    if (pressed === this.#pressed) return;
    this.#pressed = pressed;
    for (const { req, res } of this.#running) setPatience(req, res, this.patienceMs);
  }

  /** Takes no more requests, or takes them again; those under way continue. */
  drain(draining = true): void {
    this.#draining = draining;
    if (draining) for (const act of this.#onDrain) act();
  }

  /** Registers an action for whenever draining begins. */
  onDrain(act: () => void): void {
    this.#onDrain.push(act);
  }

  /**
   * Resets transfers that can continue elsewhere: all those of clients that have said so, or the
   * longest ones above a limit.
   *
   * @param limit transfers that may stay; undefined: all but those of aware clients
   */
  offload(limit?: number): void {
    const running = [...this.#running]
      // Files of the depot are at no other edge.
      .filter(({ kind }) => kind === 'file' || kind === 'tunnel')
      .filter(({ controller }) => !controller.signal.aborted)
      .map((exchange) => ({
        exchange,
        aware: exchange.aware,
        remainingBytes: exchange.bodyBytes - exchange.sentBytes,
      }));
    const chosen =
      limit === undefined ? running.filter(({ aware }) => aware) : chooseOffload(running, limit);
    for (const { exchange } of chosen) {
      this.#metrics.offloads.inc();
      exchange.controller.abort(new MillraceError('draining', 'continue elsewhere'));
    }
  }

  /** Measures the pace at which each client takes its body. */
  observeReaders(now: Millis): void {
    this.#observed = true;
    for (const exchange of this.#running) {
      const untaken = untakenBytes(exchange.res);
      const taken = exchange.sentBytes - untaken;
      if (exchange.pace === undefined) exchange.pace = new ReaderPace(taken, untaken, now);
      else exchange.pace.observe(taken, untaken, now);
    }
  }

  /** Forgets the paces of clients. */
  forgetReaders(): void {
    if (!this.#observed) return;
    this.#observed = false;
    for (const exchange of this.#running) exchange.pace = undefined;
  }

  /**
   * Frees memory: refuses transfers that wait beside others of their clients, and resets those whose
   * clients take the least for the memory that they hold.
   *
   * @param bytes to be freed by either
   * @returns number of transfers that were ended
   */
  freeMemory(bytes: number): number {
    const readers = [...this.#running]
      .filter(({ controller }) => !controller.signal.aborted)
      .map((exchange) => ({
        exchange,
        client: exchange.clientKey,
        isWaiting: !exchange.res.headersSent,
        heldBytes: heldBytes(exchange),
        bytesPerMs: exchange.pace?.bytesPerMs,
      }));
    const refused = new Set(chooseWaiting(readers, bytes));
    for (const { exchange } of refused) {
      this.#onShort('refused', exchange.client);
      exchange.controller.abort(new MillraceError('out-of-memory', '', { retryAfterMs: 1000 }));
    }
    const others = readers.filter((reader) => !refused.has(reader));
    // Slow readers must free all of the bytes as well: refused transfers come again, and slow
    // readers would keep their chunks.
    const slowest = chooseSlowest(others, bytes);
    for (const { exchange } of slowest) this.#reset(exchange);
    return refused.size + slowest.length;
  }

  #reset({ controller, res, client }: Exchange): void {
    this.#metrics.slowReset.inc();
    this.#onShort('evicted', client);
    controller.abort(
      // A request whose head has not been sent is answered with this error.
      new MillraceError('out-of-memory', 'the slowest readers are reset', { retryAfterMs: 1000 }),
    );
    // Once all of the body has been written, no code waits for the signal.
    if (res.headersSent) resetResponse(res);
  }

  /** Resolves when no transfer is under way. */
  async idle(): Promise<void> {
    if (this.#running.size > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  /** Cuts off all requests under way. */
  resetAll(): void {
    for (const { controller } of this.#running) controller.abort(new MillraceError('draining'));
  }
}

/** Weighs a transfer besides its request, of which a stream of HTTP/2 is a part. */
function transferBytes(res: ServerResponse): number {
  return streamOf(res) === undefined ? TRANSFER_BYTES : TRANSFER_BYTES - STREAM_BYTES;
}

/** Returns the number of bytes that would be free without the transfer. */
function heldBytes({ kind, req, res, heldBytes: body }: Exchange): number {
  const encrypted = res.socket !== null && 'encrypted' in res.socket;
  const socket = kind === 'tunnel' || encrypted ? res.writableLength : 0;
  const tunnel = kind === 'tunnel' ? TUNNEL_BYTES : 0;
  return requestBytes(req, res) + transferBytes(res) + tunnel + socket + (body?.() ?? 0);
}
