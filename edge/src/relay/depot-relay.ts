/**
 * Passes requests of the depot on to the process of this edge that has its folder, and its answers
 * back: bodies as they come, in both directions no faster than they are taken, interim answers, and
 * the end of either side.
 */

import { once } from 'node:events';
import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Millis } from '@millrace/shared/base/clock';
import { isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { depotTagOf } from '@millrace/shared/cdn/depot/depot-file';
import { freeBytes } from '@millrace/shared/node/memory/free-bytes';
import { sleep } from '@millrace/shared/node/sleep';
import { canAnswer, endResponse, streamOf } from '../clients/connection.ts';
import type { Exchange } from '../clients/exchanges.ts';
import { sendInterimAnswer } from '../clients/interim-answer.ts';
import { hasBody, isWhole } from '../clients/request-bodies.ts';
import { wideBytes, widenWindow } from '../clients/upload-window.ts';
import { findDepotTag } from '../depot/depot-tag.ts';
import { suspendRequestTimeout } from '../listen/uploads.ts';
import { passedOn, RELAY_FIELDS, relayPath } from './relay-protocol.ts';

/** The parts of an exchange that a relay needs. */
export type Relayed = Pick<
  Exchange,
  'req' | 'res' | 'controller' | 'admission' | 'client' | 'sentBytes'
>;

export interface DepotRelayOptions {
  /** Folder of the depot. */
  readonly dir: string;
  /** Key of the processes of this edge. */
  readonly key: string;
  /**
   * Returns the address that a request was sent to, with scheme, and whatever the depot cannot see
   * of the connection.
   */
  readonly baseOf: (req: IncomingMessage) => string;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
}

/** Memory that a relayed request takes besides those of its connections. */
export const RELAY_BYTES = 4 * 64 * 1024;
/** Bytes of a body that are more than a depot that refuses it may leave under way. */
const ADMITTED_BYTES = 512 * 1024;
/** Connections without a request that are kept. */
const SPARE_CONNECTIONS = 32;
/** Time after which a client may ask again: a process that has died is started again within it. */
const RETRY_AFTER_MS: Millis = 2000;
const BODY_METHODS: ReadonlySet<string | undefined> = new Set(['POST', 'PUT', 'PATCH']);

export class DepotRelay {
  readonly #options: DepotRelayOptions;
  readonly #http = process.getBuiltinModule('node:http');
  readonly #agent = new this.#http.Agent({ keepAlive: true, maxFreeSockets: SPARE_CONNECTIONS });
  #tag: string | undefined;
  #running = 0;

  constructor(options: DepotRelayOptions) {
    this.#options = options;
  }

  /** Memory of the requests under way, bytes. */
  get bytes(): number {
    return this.#running * RELAY_BYTES + wideBytes();
  }

  /** Returns true for ids that the depot of this edge has given. */
  async owns(id: string): Promise<boolean> {
    this.#tag ??= await findDepotTag(this.#options.dir);
    return depotTagOf(id) === this.#tag;
  }

  /**
   * Passes a request on, and the answer back.
   *
   * @param target of the request to the depot
   * @returns resolves when the client's connection has taken all of the answer
   * @throws MillraceError `depot-unreachable` if the other process does not answer, which takes a
   *   restart of it at most; `interrupted` if it breaks off, or the client does; the reason of the
   *   exchange's signal
   */
  async pass(relayed: Relayed, target: string): Promise<void> {
    const { req, res, controller } = relayed;
    const { signal } = controller;
    signal.throwIfAborted();
    const up = this.#begin(relayed, target);
    const ended = [this.#count()];
    // The depot may refuse it before any of the body has come.
    up.flushHeaders();
    ended.push(freeReads(up));
    const destroy = () => void up.destroy();
    signal.addEventListener('abort', destroy, { once: true });
    up.on('error', () => {}); // also after the answer; `close` follows
    up.on('information', ({ statusCode, headers }) => {
      if (statusCode !== 100) sendInterimAnswer(req, res, statusCode, passedOn(headers));
    });
    // The depot has a limit of its own on the pace of bodies.
    if (hasBody(req) && streamOf(res) === undefined) ended.push(suspendRequestTimeout(req.socket));
    try {
      const sending = new AbortController();
      void this.#sendBody(relayed, up).catch((error: unknown) => {
        sending.abort(error);
        up.destroy();
      });
      const answer = await answerOf(up);
      if (answer === undefined) {
        signal.throwIfAborted();
        sending.signal.throwIfAborted();
        throw new MillraceError(
          'depot-unreachable',
          'the process of the edge that has the depot does not answer',
          { retryAfterMs: RETRY_AFTER_MS },
        );
      }
      await this.#answer(relayed, answer);
    } finally {
      signal.removeEventListener('abort', destroy);
      up.destroy();
      for (const end of ended) end();
    }
  }

  /** Ends the connections that no request uses. */
  close(): void {
    this.#agent.destroy();
  }

  #count(): () => void {
    this.#running++;
    return () => void this.#running--;
  }

  /** Sends the head of a request. */
  #begin({ req, res, client }: Relayed, target: string): ClientRequest {
    const { dir, key, baseOf } = this.#options;
    const base = new URL(baseOf(req));
    const headers: Record<string, string> = {
      ...passedOn(req.headers),
      host: base.host,
      'x-forwarded-proto': base.protocol.slice(0, -1),
      [RELAY_FIELDS.key]: key,
      [RELAY_FIELDS.client]: client,
    };
    const isBody = BODY_METHODS.has(req.method);
    if (!isBody) delete headers['content-length'];
    else if (headers['content-length'] === undefined) {
      const isOpen = streamOf(res) !== undefined || hasBody(req);
      Object.assign(
        headers,
        isOpen ? { 'transfer-encoding': 'chunked' } : { 'content-length': '0' },
      );
    }
    const { method } = req;
    const socketPath = relayPath(dir);
    try {
      return this.#http.request({ agent: this.#agent, socketPath, method, path: target, headers });
    } catch (cause) {
      throw new MillraceError('bad-request', 'the request cannot be passed on', { cause });
    }
  }

  /**
   * Sends the body: if the client waits for that, only once the depot wants it. Resolves also if
   * nobody takes it any more.
   *
   * @throws MillraceError `interrupted` if the client leaves before its end
   */
  async #sendBody({ req, res }: Relayed, up: ClientRequest): Promise<void> {
    if (!BODY_METHODS.has(req.method)) return void up.end();
    if (req.headers.expect !== undefined && hasBodyToCome(req, res)) {
      if (!(await isWanted(up))) return;
      if (canAnswer(res)) res.writeContinue();
    }
    let [passed, narrow] = [0, () => {}];
    try {
      for await (const bytes of req.iterator({ destroyOnReturn: false })) {
        if (up.destroyed) return;
        // The depot has admitted an upload of which it takes that much.
        if (passed <= ADMITTED_BYTES && passed + bytes.length > ADMITTED_BYTES) {
          narrow = widenWindow(res);
        }
        passed += bytes.length;
        if (!up.write(bytes, () => freeBytes(bytes))) await taken(up);
      }
    } catch (cause) {
      throw new MillraceError('interrupted', 'client left', { cause });
    } finally {
      narrow();
    }
    if (!isWhole(req, res)) throw new MillraceError('interrupted', 'client left');
    up.end();
  }

  async #answer(relayed: Relayed, answer: IncomingMessage): Promise<void> {
    const { req, res, controller, admission } = relayed;
    const { now } = this.#options;
    const { signal } = controller;
    // Bytes behind an answer that did not wait for the body are not a request.
    if (streamOf(res) === undefined && !req.complete && hasBody(req)) res.shouldKeepAlive = false;
    res.writeHead(answer.statusCode ?? 500, passedOn(answer.headers));
    try {
      for await (const piece of answer as AsyncIterable<Buffer>) {
        signal.throwIfAborted();
        if (piece.length === 0) throw new Error('a piece of the answer was freed before its time');
        const waitMs = admission.waitMs(now());
        if (waitMs > 0) await sleep(waitMs, signal);
        relayed.sentBytes += piece.length;
        admission.sent(piece.length, now());
        if (!res.write(piece, () => freeBytes(piece))) await once(res, 'drain', { signal });
      }
    } catch (cause) {
      signal.throwIfAborted();
      if (isMillraceError(cause)) throw cause;
      throw new MillraceError('interrupted', 'the depot has broken off', { cause });
    }
    if (!answer.complete) throw new MillraceError('interrupted', 'the depot has broken off');
    await endResponse(res);
  }
}

/**
 * Frees what a connection has read as soon as the parser has taken it in: the parser copies bodies, and
 * the collector would take most of the processor time of a relay. A body that were not copied would
 * become empty, never wrong.
 *
 * @returns ends it, before another request uses the connection
 */
function freeReads(up: ClientRequest): () => void {
  let socket: Socket | undefined;
  // By then the listener of the parser is in place, which has to be called first.
  up.once('socket', (one: Socket) => {
    socket = one.on('data', freeBytes);
    up.once('close', () => one.off('data', freeBytes));
  });
  return () => void socket?.off('data', freeBytes);
}

/** Returns true if all of the body has not come yet. */
function hasBodyToCome(req: IncomingMessage, res: ServerResponse): boolean {
  return !req.complete && (streamOf(res) !== undefined || hasBody(req));
}

/** Resolves with the answer to a request; undefined: there is none. */
function answerOf(up: ClientRequest): Promise<IncomingMessage | undefined> {
  return new Promise((resolve) => {
    up.once('response', resolve);
    up.once('close', () => resolve(undefined));
  });
}

/** Resolves with true when the body is wanted, with false when it never will be. */
function isWanted(up: ClientRequest): Promise<boolean> {
  return new Promise((resolve) => {
    up.once('continue', () => resolve(true));
    up.once('response', () => resolve(false));
    up.once('close', () => resolve(false));
  });
}

/** Resolves when a request takes more bytes of its body, or never will. */
function taken(up: ClientRequest): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      up.off('drain', done);
      up.off('close', done);
      resolve();
    };
    up.on('drain', done);
    up.on('close', done);
  });
}
