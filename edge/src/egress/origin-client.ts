/**
 * Requests to origins: GET and HEAD only, identity encoding, no credentials, redirects followed by hand so
 * that each hop is checked against the policy.
 */

import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import { MAX_REDIRECTS } from '@millrace/shared/base/limits';
import { FairTurns } from '@millrace/shared/cdn/admission/fair-turns';
import { type OriginPlace, OriginPlaces } from '@millrace/shared/cdn/admission/origin-places';
import { interimReader } from '@millrace/shared/http/answers/interim-answer';
import { isMislabelledPart } from '@millrace/shared/http/answers/range-contract';
import { isRedirect } from '@millrace/shared/http/answers/redirect';
import { viaItem } from '@millrace/shared/http/fields/via';
import type { Hop } from '@millrace/shared/http/origin/origin-check';
import { httpGet } from '@millrace/shared/node/http-get';
import type { HttpAnswer, HttpResponse, Method } from '@millrace/shared/node/http-response';
import type { LinkGrant } from '@millrace/shared/node/link-signature';
import { networkError } from '@millrace/shared/node/network-error';
import type { OnRefusal } from '../admission/admissions.ts';
import type { ClientOrigins } from '../admission/client-origins.ts';
import type { Scope } from '../files/file-version.ts';
import { isNodeClient, type OnInterim } from '../files/path.ts';
import type { OriginPolicy } from '../policy/policy.ts';
import { publicLookup } from '../policy/public-address.ts';
import { AnonymousTokens } from './anonymous-tokens.ts';
import { BodyPace } from './body-pace.ts';
import type { OriginAccess } from './origin-access.ts';
import { originShare, originTurns, tooManyOrigins } from './origin-shares.ts';
import { originTarget, RedirectFields } from './redirects.ts';
import {
  KEEP_ALIVE_MS,
  openTransport,
  type Transport,
  type TransportOptions,
} from './transport.ts';

export interface OriginClientOptions extends TransportOptions {
  readonly policy: OriginPolicy;
  /** This node's name: goes into Via, so that a loop of edges is noticed. */
  readonly name: string;
  /** Origins with connections at a time. */
  readonly maxOrigins: number;
  /** Bounds the origins that a client makes this edge ask over time. */
  readonly clientOrigins: ClientOrigins;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
  /** Called for clients that are refused an origin, or lose it to another client. */
  readonly onRefusal?: OnRefusal;
  /** Gets requests into origins that let only this edge in; undefined: there are none. */
  readonly access?: OriginAccess | undefined;
  /** True if origins are told traces; absent: false. */
  readonly tellsTraces?: boolean;
}

export interface OriginRequest {
  /** Default: GET. */
  readonly method?: Method;
  readonly url: URL;
  readonly scope: Scope;
  /** Requester: a client's key, or another node. */
  readonly client?: string | undefined;
  /** Grant of the signed link that lets the request through. */
  readonly grant?: LinkGrant | undefined;
  /** `traceparent` of the request for which the origin is asked. */
  readonly trace?: string | undefined;
  /**
   * Returns true for URLs that may be fetched whatever the policy says, at private addresses too;
   * asked for redirects as well.
   */
  readonly admits?: ((url: URL) => boolean) | undefined;
  /** True if a redirect that says no target is an answer, and not an error. */
  readonly takesTargetless?: boolean | undefined;
  /** Header fields besides those every request has. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  /** Called when a request goes out, after it has waited for a connection. */
  readonly onSent?: () => void;
  /** Called for interim answers that may go to a client; a few at most. */
  readonly onInterim?: OnInterim | undefined;
  /** Called with each redirect before it is followed. */
  readonly onRedirect?: (hop: Hop) => void;
}

/** An origin's place, for the length of one request. */
interface Use {
  /** Ends the request. */
  readonly done: () => void;
  /** @throws MillraceError if the origin has been cut off since */
  readonly check: () => void;
}

/** Sends one request of a chain of redirects, and ends its use of the origin's place. */
type Send<A> = (url: URL, transport: Transport, use: Use) => Promise<A>;

/** Idle time after which an origin is forgotten. */
const IDLE_ORIGIN_MS: Millis = KEEP_ALIVE_MS + 5000;
const IDLE_CHECK_MS: Millis = 10_000;
/** Longest time for all heads of a chain of redirects, in multiples of that for one. */
const CHAIN_TIMEOUTS = 2;
/** Time over which a body's pace is measured, in multiples of an origin's longest silence. */
const PACE_TIMEOUTS = 2;

export class OriginClient {
  readonly #options: OriginClientOptions;
  readonly #publicOnly: Transport;
  readonly #anywhere: Transport;
  readonly #places: OriginPlaces;
  /** Turns at the pooled connections to an origin, and at those for ranges. */
  readonly #turns: FairTurns;
  readonly #rangeTurns: FairTurns;
  readonly #idleTimer: NodeJS.Timeout;
  readonly #tokens: AnonymousTokens;

  constructor(options: OriginClientOptions) {
    this.#options = options;
    const { maxOrigins: max, connections, now } = options;
    this.#tokens = new AnonymousTokens(now);
    this.#places = new OriginPlaces({ max, share: originShare(max) });
    this.#turns = new FairTurns(connections);
    this.#rangeTurns = new FairTurns(connections);
    this.#idleTimer = setInterval(() => {
      for (const origin of this.#places.takeIdle(now() - IDLE_ORIGIN_MS)) this.#cutOff(origin);
    }, IDLE_CHECK_MS).unref();
    this.#publicOnly = openTransport(options, publicLookup(undefined, options.policy.own));
    this.#anywhere = openTransport(options, undefined);
  }

  /** Origins with requests under way. */
  get originsInUse(): number {
    return this.#places.inUse;
  }

  /** Measures the pace at which one body comes, or several that make up one chunk. */
  pace(): BodyPace {
    return new BodyPace(PACE_TIMEOUTS * this.#options.timeoutMs);
  }

  /**
   * Sends a GET or HEAD and follows redirects.
   *
   * @returns a response whose body must be read or discarded
   * @throws MillraceError for anything that prevents a response; not for its status
   */
  open(request: OriginRequest): Promise<HttpResponse> {
    return this.#send(request, (asked) =>
      this.#follow(asked, (url, transport, use) => this.#getInTurn(url, transport, asked, use)),
    );
  }

  /**
   * Sends a GET with a Range whose answer is read as a whole, and follows redirects. Connections
   * read into the caller's memory; a range not in plain form is fetched again as by `open`.
   *
   * @throws MillraceError as `open`
   */
  openRange(request: OriginRequest): Promise<HttpAnswer> {
    return this.#send(request, (asked) => this.#rangeOf(asked));
  }

  #rangeOf(request: OriginRequest): Promise<HttpAnswer> {
    return this.#follow(request, async (url, transport, use) => {
      const { client = '', signal } = request;
      const end = await this.#rangeTurns.take(url.origin, client, signal);
      const requestedAt = Date.now();
      let givenUp = false;
      try {
        use.check();
        const fields = await this.#headers(url, request);
        const answer = await transport.ranges.open(url, fields, request.signal, {
          onSent: request.onSent,
          onDone: () => {
            end();
            if (!givenUp) use.done();
          },
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
        givenUp = true;
        answer.discard();
      } catch (error) {
        end();
        throw request.signal.aborted ? request.signal.reason : networkError(error, false);
      }
      return this.#getInTurn(url, transport, request, use);
    });
  }

  /** Closes all connections. */
  async close(): Promise<void> {
    clearInterval(this.#idleTimer);
    for (const { agents, ranges } of [this.#publicOnly, this.#anywhere]) {
      ranges.close();
      await agents.destroy();
    }
  }

  /** Waits for a connection: those to one origin go round by client. */
  async #getInTurn(
    url: URL,
    transport: Transport,
    request: OriginRequest,
    use: Use,
  ): Promise<HttpResponse> {
    const { client = '', signal } = request;
    // One client's slow files must not take all connections to an origin from the others.
    const hasShare = client !== '' && !isNodeClient(client);
    const share = hasShare ? originTurns(this.#options.connections) : undefined;
    const end = await this.#turns.take(url.origin, client, signal, share);
    const done = () => {
      end();
      use.done();
    };
    try {
      return await this.#get(url, transport, request, { ...use, done });
    } catch (error) {
      end();
      throw error;
    }
  }

  async #get(
    url: URL,
    { agents }: Transport,
    request: OriginRequest,
    { done: onDone, check }: Use,
  ): Promise<HttpResponse> {
    const { timeoutMs: headMs } = this.#options;
    await agents.ready();
    check();
    const pool = agents.get(url.origin);
    const { method = 'GET', signal, onInterim } = request;
    const interim = onInterim && { onInterim: interimReader(url.href, onInterim) };
    const fields = await this.#headers(url, request);
    return httpGet(pool, url, fields, signal, { method, headMs, onDone, ...interim });
  }

  async #follow<A extends HttpAnswer>(request: OriginRequest, send: Send<A>): Promise<A> {
    let url = request.url;
    let waited = 0;
    /** URL of the last request that a token was got for. */
    let tokenFor: URL | undefined;
    const fields = new RedirectFields(this.#options.policy.rule(request.url).redirectFields);
    for (let hop = 0; ; hop++) {
      const { client, scope, grant } = request;
      const anywhere =
        request.admits?.(url) === true || this.#options.policy.check(url, scope, grant);
      this.#options.clientOrigins.admit(client, scope, url.origin, this.#options.now());
      const place = this.#enter(url.origin, client);
      const use: Use = {
        done: () => place.leave(this.#options.now()),
        check: () => {
          if (place.lost) throw tooManyOrigins('others have fewer');
        },
      };
      let answer: A;
      try {
        answer = await send(url, anywhere ? this.#anywhere : this.#publicOnly, use);
      } catch (error) {
        use.done();
        throw error;
      }
      const { tokenServer } = this.#options.policy.rule(url);
      if (answer.status === 401 && tokenServer !== undefined && tokenFor !== url) {
        const ask = { scope, client, signal: request.signal };
        const open = (at: URL) => this.open({ ...ask, url: at, admits: (to) => to === at });
        if (await this.#tokens.get(url, answer.headers, tokenServer, open)) {
          answer.discard();
          tokenFor = url;
          hop--;
          continue;
        }
      }
      if (answer.status === 200 && isMislabelledPart(answer.headers, request.headers?.range)) {
        Object.assign(answer, { status: 206 });
      }
      if (!isRedirect(answer.status)) return fields.addTo(answer);
      if (request.takesTargetless === true && answer.headers.location === undefined) return answer;
      fields.take(answer.headers);
      answer.discard();
      waited += answer.arrivedAt - answer.requestedAt;
      if (waited > CHAIN_TIMEOUTS * this.#options.timeoutMs) {
        throw new MillraceError('origin-timeout', 'the redirects took too long');
      }
      if (hop === MAX_REDIRECTS) {
        throw new MillraceError('too-many-redirects', `more than ${MAX_REDIRECTS}`);
      }
      const target = originTarget(answer);
      request.onRedirect?.({ status: answer.status, from: url.href, to: target.href });
      url = target;
    }
  }

  /** @throws MillraceError `too-many-origins` */
  #enter(origin: string, client: string | undefined): OriginPlace {
    const place = this.#places.enter(origin, client, client === undefined || !isNodeClient(client));
    if (place === undefined) {
      if (client !== undefined) this.#options.onRefusal?.('origins', 'refused', client);
      throw tooManyOrigins('wait for others to finish');
    }
    const { evicted, displaced } = place;
    if (evicted !== undefined) this.#cutOff(evicted);
    if (displaced !== undefined) {
      this.#options.onRefusal?.('origins', 'evicted', displaced.client);
      this.#cutOff(displaced.origin);
    }
    return place;
  }

  /** Closes the connections to an origin, with all requests under way. */
  #cutOff(origin: string): void {
    const error = tooManyOrigins('others have fewer');
    for (const { agents, ranges } of [this.#publicOnly, this.#anywhere]) {
      agents.close(origin, error);
      ranges.closeOrigin(origin, error);
    }
  }

  /** Sends a request to its origin, or to the second one that it has. */
  #send<A extends HttpAnswer>(
    request: OriginRequest,
    send: (request: OriginRequest) => Promise<A>,
  ): Promise<A> {
    const { access } = this.#options;
    return access === undefined ? send(request) : access.send(request, send);
  }

  async #headers(url: URL, request: OriginRequest): Promise<Record<string, string>> {
    const { accept } = this.#options.policy.rule(url);
    const { tellsTraces = false } = this.#options;
    const traceparent = tellsTraces ? request.trace : undefined;
    return {
      ...(traceparent === undefined ? {} : { traceparent }),
      ...(accept === undefined ? {} : { accept }),
      ...this.#tokens.fieldsFor(url),
      'accept-encoding': 'identity',
      'user-agent': 'Millrace/0.1',
      via: viaItem(this.#options.name),
      ...request.headers,
      ...(await this.#options.access?.fields(url, request.method ?? 'GET')),
    };
  }
}
