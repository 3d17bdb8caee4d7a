/**
 * Sends GET requests at the lowest cost: plain http: over our own connections, which need a quarter
 * of the processor time for large bodies, and everything else through undici.
 */

import type { Dispatcher } from 'undici';
import { isMillraceError } from '../src/base/errors.ts';
import type { Headers } from '../src/http/fields/headers.ts';
import { httpGet } from './http-get.ts';
import { networkError } from './network-error.ts';
import type { RoomForPiece, TakePiece } from './piece-reader.ts';
import { RangeClient, type RangeClientOptions } from './range-client.ts';

export interface HttpClientOptions {
  /**
   * Makes the agent for https:, and for all requests if `direct` is not given. Called once, when
   * the agent is needed: loading undici takes as long as receiving 300 MB, and 20 MB of memory.
   */
  readonly agent: () => Promise<Dispatcher>;
  /** Options of our own connections; undefined if requests must go another way (a proxy). */
  readonly direct: RangeClientOptions | undefined;
}

/** An answer whose body is passed on piece by piece, or discarded. */
export interface HttpStream {
  readonly status: number;
  readonly headers: Headers;
  /** The requested URL. */
  readonly url: URL;
  /** When the request was sent and the head arrived, Unix milliseconds. */
  readonly requestedAt: number;
  readonly arrivedAt: number;
  /** Time from the request, on an open connection, to the head of the answer, in milliseconds. */
  readonly headMs: number;
  /**
   * Passes the body on piece by piece.
   *
   * @param room memory for the next bytes; not always used
   * @returns settles when the body has ended, cleanly or not
   */
  pipe(take: TakePiece, room?: RoomForPiece): Promise<void>;
  /** Discards the body; the connection is closed if any of it is left. */
  discard(): void;
}

type Fields = Readonly<Record<string, string>>;

/** Fields that control a connection: undici handles or refuses them. */
const CONNECTION_FIELDS: ReadonlySet<string> = new Set([
  ...['connection', 'content-length', 'expect', 'host', 'keep-alive'],
  ...['te', 'trailer', 'transfer-encoding', 'upgrade'],
]);

export class HttpClient {
  readonly #makeAgent: () => Promise<Dispatcher>;
  #agent: Promise<Dispatcher> | undefined;
  readonly #direct: RangeClient | undefined;
  readonly #mends: boolean;
  /** Origins whose answers undici cannot read. */
  readonly #broken = new Set<string>();

  constructor({ agent, direct }: HttpClientOptions) {
    this.#makeAgent = agent;
    this.#direct = direct === undefined ? undefined : new RangeClient(direct);
    this.#mends = direct?.mends === true;
  }

  /**
   * Sends a GET, and sends it again if a kept-alive connection broke before the answer began.
   *
   * @param signal ends the exchange at any point, the body included
   * @returns a response whose body must be read or discarded
   * @throws the signal's reason; MillraceError for every other failure before the head is complete
   */
  async get(url: URL, headers: Fields, signal: AbortSignal): Promise<HttpStream> {
    const direct = hasConnectionField(headers) ? undefined : this.#direct;
    const isPlain = url.protocol === 'http:' || this.#broken.has(url.origin);
    if (direct !== undefined && isPlain) return getDirectly(direct, url, headers, signal);
    this.#agent ??= this.#makeAgent();
    try {
      const response = await httpGet(await this.#agent, url, headers, signal);
      return direct === undefined ? response : this.#watched(response);
    } catch (error) {
      if (!isMillraceError(error, 'malformed-response') || direct === undefined) throw error;
      // With `mends`, our own connections read answers that break the rules.
      if (!this.#mends) throw error;
      this.#broken.add(url.origin);
      return getDirectly(direct, url, headers, signal);
    }
  }

  /**
   * Notes an origin whose body undici cannot read: the next request may use our own connections.
   */
  #watched(response: HttpStream): HttpStream {
    return {
      ...{ status: response.status, headers: response.headers, url: response.url },
      ...{ requestedAt: response.requestedAt, arrivedAt: response.arrivedAt },
      headMs: response.headMs,
      pipe: async (take, room) => {
        try {
          await response.pipe(take, room);
        } catch (error) {
          const isBroken = isMillraceError(error, 'malformed-response');
          if (isBroken && this.#mends) this.#broken.add(response.url.origin);
          throw error;
        }
      },
      discard: () => response.discard(),
    };
  }

  /** Closes idle connections and the agent; our own busy connections close with their exchange. */
  async close(): Promise<void> {
    this.#direct?.close();
    await (await this.#agent)?.destroy();
  }
}

async function getDirectly(
  client: RangeClient,
  url: URL,
  headers: Fields,
  signal: AbortSignal,
): Promise<HttpStream> {
  const requestedAt = Date.now();
  const understood = (error: unknown, afterHead: boolean) =>
    signal.aborted ? signal.reason : networkError(error, afterHead);
  let response: Awaited<ReturnType<RangeClient['open']>>;
  try {
    response = await client.open(url, headers, signal);
  } catch (error) {
    throw understood(error, false);
  }
  return {
    status: response.status,
    headers: response.headers,
    url,
    requestedAt,
    arrivedAt: Date.now(),
    headMs: response.headMs,
    async pipe(take, room) {
      try {
        await response.pipe(take, room);
      } catch (error) {
        throw understood(error, true);
      }
    },
    discard: () => response.discard(),
  };
}

function hasConnectionField(headers: Fields): boolean {
  return Object.keys(headers).some((name) => CONNECTION_FIELDS.has(name.toLowerCase()));
}
