/**
 * Sends GET requests over our own connections, which need a quarter of the processor time of undici
 * for large bodies (half of it over TLS), and can read answers that it refuses.
 */

import type { Headers } from '../src/http/fields/headers.ts';
import { networkError } from './network-error.ts';
import type { RoomForPiece, TakePiece } from './piece-reader.ts';
import { RangeClient, type RangeClientOptions } from './range-client.ts';

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

export class HttpClient {
  readonly #client: RangeClient;

  constructor(options: RangeClientOptions) {
    this.#client = new RangeClient(options);
  }

  /**
   * Sends a GET, and sends it again if a kept-alive connection broke before the answer began.
   *
   * @param signal ends the exchange at any point, the body included
   * @returns a response whose body must be read or discarded
   * @throws the signal's reason; MillraceError for every other failure before the head is complete
   */
  async get(url: URL, headers: Fields, signal: AbortSignal): Promise<HttpStream> {
    const requestedAt = Date.now();
    const understood = (error: unknown, afterHead: boolean) =>
      signal.aborted ? signal.reason : networkError(error, afterHead);
    let response: Awaited<ReturnType<RangeClient['open']>>;
    try {
      response = await this.#client.open(url, headers, signal);
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

  /** Closes idle connections; busy connections close with their exchange. */
  close(): void {
    this.#client.close();
  }
}
