/**
 * Requests to origins: GET only, identity encoding, no credentials, redirects followed by hand so
 * that each hop is checked against the policy.
 */

import type { LookupFunction } from 'node:net';
import { MillraceError } from '@millrace/shared/base/errors';
import { MAX_REDIRECTS } from '@millrace/shared/base/limits';
import { singleField } from '@millrace/shared/http/headers';
import type { Hop } from '@millrace/shared/http/origin-check';
import { parseOriginUrl } from '@millrace/shared/http/prefixed-url';
import { viaItem } from '@millrace/shared/http/via';
import { httpGet } from '@millrace/shared/node/http-get';
import type { HttpAnswer, HttpResponse } from '@millrace/shared/node/http-response';
import { LazyAgent } from '@millrace/shared/node/lazy-agent';
import type { LinkGrant } from '@millrace/shared/node/link-signature';
import { networkError } from '@millrace/shared/node/network-error';
import { RangeClient } from '@millrace/shared/node/range-client';
import type { OriginPolicy, Scope } from '../policy/policy.ts';
import { publicLookup } from '../policy/public-address.ts';

export interface OriginClientOptions {
  readonly policy: OriginPolicy;
  /** This node's name: goes into Via, so that a loop of edges is noticed. */
  readonly name: string;
  /** Connections to one origin at a time. */
  readonly connections: number;
  /** How long an origin may take to connect, to answer, and to send nothing, milliseconds. */
  readonly timeoutMs: number;
}

export interface OriginRequest {
  readonly url: URL;
  readonly scope: Scope;
  /** Of a signed link, where that is what lets the request through. */
  readonly grant?: LinkGrant | undefined;
  /** Header fields besides those every request has. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  /** Told when a request goes out; before that it waits for a connection. */
  readonly onSent?: () => void;
  /** Told of each redirect before it is followed. */
  readonly onRedirect?: (hop: Hop) => void;
}

/** Two ways to the same origins: a general client, and the narrow one for ranges. */
interface Transport {
  readonly agent: LazyAgent;
  readonly ranges: RangeClient;
}

const MAX_CONNECT_MS = 10_000;
/** Origins with connections at a time: bounds what strangers can make an open edge hold. */
const MAX_ORIGINS = 1000;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

export class OriginClient {
  readonly #o: OriginClientOptions;
  readonly #publicOnly: Transport;
  readonly #anywhere: Transport;

  constructor(options: OriginClientOptions) {
    this.#o = options;
    this.#publicOnly = this.#transport(publicLookup());
    this.#anywhere = this.#transport(undefined);
  }

  /**
   * Sends a GET and follows redirects.
   *
   * @returns a response whose body must be read or discarded
   * @throws MillraceError for everything that keeps a response from coming; not for its status
   */
  open(request: OriginRequest): Promise<HttpResponse> {
    return this.#follow(request, async (url, { agent }) =>
      httpGet(await agent.get(), url, this.#headers(request), request.signal),
    );
  }

  /**
   * The same for requests with a Range, whose answer is read as a whole: over connections that
   * read into the caller's memory, where the answer is of the plain form that ranges have.
   *
   * @throws MillraceError as `open`
   */
  openRange(request: OriginRequest): Promise<HttpAnswer> {
    return this.#follow(request, async (url, { agent, ranges }) => {
      const requestedAt = Date.now();
      try {
        const answer = await ranges.open(url, this.#headers(request), request.signal, {
          onSent: request.onSent,
        });
        if (answer.plain || answer.status !== 206) {
          return {
            ...answer,
            url,
            requestedAt,
            arrivedAt: Date.now(),
            readInto: (into, onBytes) =>
              answer.readInto(into, onBytes).catch((error: unknown) => {
                throw request.signal.aborted ? error : networkError(error, true);
              }),
          };
        }
        answer.discard();
      } catch (error) {
        throw request.signal.aborted ? request.signal.reason : networkError(error, false);
      }
      return httpGet(await agent.get(), url, this.#headers(request), request.signal);
    });
  }

  /** Closes all connections. */
  async close(): Promise<void> {
    for (const { agent, ranges } of [this.#publicOnly, this.#anywhere]) {
      ranges.close();
      await agent.destroy();
    }
  }

  async #follow<A extends HttpAnswer>(
    request: OriginRequest,
    send: (url: URL, transport: Transport) => Promise<A>,
  ): Promise<A> {
    let url = request.url;
    for (let hop = 0; ; hop++) {
      const anywhere = this.#o.policy.check(url, request.scope, request.grant);
      const answer = await send(url, anywhere ? this.#anywhere : this.#publicOnly);
      if (!REDIRECTS.has(answer.status)) return answer;
      answer.discard();
      if (hop === MAX_REDIRECTS) {
        throw new MillraceError('too-many-redirects', `more than ${MAX_REDIRECTS}`);
      }
      const target = redirectTarget(answer);
      request.onRedirect?.({ status: answer.status, from: url.href, to: target.href });
      url = target;
    }
  }

  #headers(request: OriginRequest): Record<string, string> {
    return {
      'accept-encoding': 'identity',
      'user-agent': 'Millrace/0.1',
      via: viaItem(this.#o.name),
      ...request.headers,
    };
  }

  #transport(lookup: LookupFunction | undefined): Transport {
    const { timeoutMs, connections } = this.#o;
    const connectTimeoutMs = Math.min(timeoutMs, MAX_CONNECT_MS);
    const withLookup = lookup === undefined ? {} : { lookup };
    const agent = new LazyAgent({
      connections,
      pipelining: 1,
      // One connection per chunk in flight is what the window counts on.
      allowH2: false,
      connect: { timeout: connectTimeoutMs, ...withLookup },
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
      keepAliveTimeout: 30_000,
      maxHeaderSize: 32 * 1024,
      maxOrigins: MAX_ORIGINS,
    });
    const ranges = new RangeClient({ connections, timeoutMs, connectTimeoutMs, ...withLookup });
    return { agent, ranges };
  }
}

function redirectTarget(response: HttpAnswer): URL {
  const location = singleField(response.headers, 'location');
  let target: URL;
  try {
    target = new URL(location ?? '', response.url);
    target.hash = '';
  } catch (cause) {
    throw new MillraceError('bad-redirect', `Location "${location}"`, { cause });
  }
  try {
    return parseOriginUrl(target.href);
  } catch (cause) {
    throw new MillraceError('bad-redirect', target.protocol, { cause });
  }
}
