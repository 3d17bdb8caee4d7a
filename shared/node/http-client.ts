/**
 * Sends GET requests at the lowest cost: over our own connections, which need a quarter of the
 * processor time of undici for large bodies (half of it over TLS), and through undici where it
 * knows more: requests by way of a proxy, and those with fields about the connection itself.
 */

import type { Dispatcher } from 'undici';
import type { Headers } from '../src/http/fields/headers.ts';
import { httpGet } from './http-get.ts';
import { networkError } from './network-error.ts';
import type { RoomForPiece, TakePiece } from './piece-reader.ts';
import { RangeClient, type RangeClientOptions } from './range-client.ts';

export interface HttpClientOptions {
  /**
   * Makes the agent for requests that our own connections cannot send. Called once, when the agent
   * is needed: loading undici takes as long as receiving 300 MB, and 20 MB of memory.
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

  constructor({ agent, direct }: HttpClientOptions) {
    this.#makeAgent = agent;
    this.#direct = direct === undefined ? undefined : new RangeClient(direct);
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
    if (direct !== undefined) return getDirectly(direct, url, headers, signal);
    this.#agent ??= this.#makeAgent();
    return httpGet(await this.#agent, url, headers, signal);
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
