/**
 * Finds the current version of the file at a URL: the pointer of NSDI's first chunk request. A
 * fresh pointer is the answer. Otherwise one request for all waiting callers asks the origin or, in
 * a network, the owner of the first chunk, which asks the origin for all nodes.
 *
 * Content that is requested by its digest (WORLDS 4.2) has a pointer of its own, so that the origin
 * is asked for content that is not known yet, and is not asked again for known content.
 */

import type { Millis } from '@millrace/shared/base/clock';
import {
  asMillraceError,
  type ErrorCode,
  isMillraceError,
  MillraceError,
} from '@millrace/shared/base/errors';
import { SingleFlight } from '@millrace/shared/base/single-flight';
import { REVALIDATING } from '@millrace/shared/cdn/chunks/cache-outcome';
import {
  afterFailure,
  isGoodFor,
  isGoodForReload,
  patienceMs,
  secondsLeft,
} from '@millrace/shared/cdn/chunks/pointer-life';
import {
  type Freshness,
  isUsableMeanwhile,
  isUsableOnError,
  type RequestDemands,
} from '@millrace/shared/http/answers/freshness';
import type { ClientOrigins } from '../admission/client-origins.ts';
import { isPointer, type PointerCache, TUNNEL_VERDICT_MS } from '../cache/pointer-cache.ts';
import type { Purges } from '../cache/purges.ts';
import { pointerName, type Scope } from '../files/file-version.ts';
import { AbsentError, AnsweredError, isWhole } from '../files/origin-answer.ts';
import { INGRESS, type Path } from '../files/path.ts';
import type { Network } from '../peers/network.ts';
import type { RemoteVersion } from '../peers/version-message.ts';
import { followRemote } from '../streams/follow-remote.ts';
import {
  OriginVersion,
  type OriginVersionOptions,
  type Resolution,
  type VersionQuestion,
} from './origin-version.ts';
import { SilentOrigins } from './silent-origins.ts';

export interface ResolverOptions extends OriginVersionOptions {
  readonly pointers: PointerCache;
  readonly purges: Purges;
  readonly clientOrigins: ClientOrigins;
  /** Other nodes, if there are any. */
  readonly network: Network | undefined;
  /** Longest time for which an origin may be silent, milliseconds. */
  readonly timeoutMs: Millis;
  /** Unix milliseconds. */
  readonly wallClock: () => Millis;
}

/** A question about a file, for a client, with the path of its request. */
interface Question extends VersionQuestion {
  /** Name that the pointer is kept under. */
  readonly name: string;
  readonly demands: RequestDemands;
  readonly path: Path;
}

/** Files at a time about which the origin is asked in the background. */
const MAX_ASKING = 64;
/** Detail of answers while another request has the origin asked. */
const STALE = 'stale-while-revalidate';

export class FileResolver {
  readonly #options: ResolverOptions;
  readonly #origin: OriginVersion;
  readonly #flights = new SingleFlight<string, Resolution>();
  /** Files about which the origin is asked while clients get the stale version. */
  readonly #asking = new Set<string>();
  readonly #silent = new SilentOrigins();

  constructor(options: ResolverOptions) {
    this.#options = options;
    this.#origin = new OriginVersion(options);
  }

  /**
   * Finds the current version of a file.
   *
   * @param demands of the client's Cache-Control
   * @param path how the request has come here
   * @throws MillraceError
   */
  async resolve(
    url: URL,
    scope: Scope,
    demands: RequestDemands,
    signal: AbortSignal,
    path: Path = INGRESS,
  ): Promise<Resolution> {
    if (this.#options.purges.settling !== undefined) await this.#options.purges.settling;
    const now = this.#options.wallClock();
    const { digest } = demands;
    const name = pointerName({ url: url.href, digest });
    const running = digest === undefined ? this.#options.streams.find(url.href, scope) : undefined;
    if (running !== undefined && !demands.revalidate) {
      if (isGoodFor(running.pointer.freshness, demands, now)) {
        const outcome = { hit: false, fwd: 'uri-miss', collapsed: true } as const;
        return { kind: 'stream', ...running, outcome };
      }
    }
    const entry = await this.#options.pointers.load(name, scope);
    const revalidate = demands.revalidate || this.#options.pointers.isDoubted(name, scope);
    if (entry !== undefined && !isPointer(entry)) {
      // A client that wants to hear of the origin does so through the tunnel.
      const isKnown = now < entry.until && !this.#options.pointers.isDoubted(name, scope);
      if (isKnown) return { kind: 'tunnel', reason: entry.reason, take: () => undefined };
    } else if (entry !== undefined && !revalidate) {
      const { freshness, version } = entry;
      const isGood =
        isGoodFor(freshness, demands, now) ||
        isGoodForReload(freshness, version.fields, demands, now);
      if (isGood) {
        const ttlSeconds = secondsLeft(entry.freshness, now);
        return { kind: 'file', pointer: entry, outcome: { hit: true, ttlSeconds } };
      }
    }
    if (entry === undefined && !revalidate) this.#checkAnswered(name, scope, demands, now);
    const stored = entry !== undefined && isPointer(entry) ? entry : undefined;
    const known = running?.pointer ?? stored;
    const generation = this.#options.purges.current;
    const { grant, client, trace, onInterim } = path;
    const who = { grant, client, trace, onInterim };
    const asked = { url, name, scope, ...who, known, digest, generation, path };
    const question = { ...asked, demands: { ...demands, revalidate } };
    const meanwhile = revalidate ? undefined : this.#meanwhile(question, now);
    if (meanwhile !== undefined) return meanwhile;
    if (demands.onlyIfCached) throw new MillraceError('not-cached');
    return this.#inTime(question, signal, now);
  }

  /** Asks, and answers with a stale pointer that may be used on errors once the origin is silent. */
  async #inTime(question: Question, signal: AbortSignal, now: Millis): Promise<Resolution> {
    const { known, name, demands, onInterim } = question;
    const patience = patienceMs(known?.freshness, demands, this.#options.timeoutMs, now);
    if (known === undefined || patience === undefined) return this.#found(question, signal);
    let waits = true;
    const passed: typeof onInterim = onInterim && ((answer) => void (waits && onInterim(answer)));
    const ask = (end: AbortSignal) => this.#found({ ...question, onInterim: passed }, end);
    const found = this.#silent.isLate(name)
      ? undefined
      : await this.#silent.wait(name, patience, ask, signal);
    waits = false;
    if (found !== undefined) return found;
    const ttlSeconds = secondsLeft(known.freshness, this.#options.wallClock());
    const outcome = { hit: true, ttlSeconds, detail: 'stale-origin-silent' } as const;
    return this.#settled({ kind: 'file', pointer: known, outcome });
  }

  /** @throws AnsweredError if the origin's answer without a file is kept, and still fresh */
  #checkAnswered(name: string, scope: Scope, demands: RequestDemands, now: Millis): void {
    const answer = this.#options.pointers.answer(name, scope);
    // Of a file whose answer clients do not get, the origin is asked each time.
    if (answer === undefined || !isWhole(answer)) return;
    if (!isGoodFor(answer.freshness, demands, now)) return;
    const ttlSeconds = secondsLeft(answer.freshness, now);
    throw new AnsweredError(answer, { hit: true, ttlSeconds, detail: answer.code });
  }

  /**
   * Answers with the stale pointer, and asks the origin for later clients, if the origin allows it
   * (RFC 5861 3).
   */
  #meanwhile(question: Question, now: Millis): Resolution | undefined {
    const { known, demands } = question;
    if (known === undefined || demands.maxAgeMs !== undefined) return undefined;
    if (!isUsableMeanwhile(known.freshness, now)) return undefined;
    let detail: string = STALE;
    if (!demands.onlyIfCached && !this.#asking.has(question.name)) {
      // Without a place in the background, this client waits for the origin.
      if (this.#asking.size === MAX_ASKING) return undefined;
      this.#asking.add(question.name);
      detail = REVALIDATING;
      // The client may leave; the origin's silence ends the request.
      void this.#found({ ...question, onInterim: undefined }, new AbortController().signal)
        .catch(() => {})
        .finally(() => this.#asking.delete(question.name));
    }
    const ttlSeconds = secondsLeft(known.freshness, now);
    return { kind: 'file', pointer: known, outcome: { hit: true, ttlSeconds, detail } };
  }

  /** Asks, or waits for the answer to another request with the same question. */
  async #found(question: Question, signal: AbortSignal): Promise<Resolution> {
    for (;;) {
      const flight = this.#flight(question, signal);
      try {
        const resolution = await flight.result;
        const isOwn = !flight.joined || resolution.kind === 'tunnel' || resolution.outcome.hit;
        if (isOwn) return resolution;
        return { ...resolution, outcome: { ...resolution.outcome, collapsed: true } };
      } catch (error) {
        // The limit was that of another client, whose request has failed with this error: this
        // request must not fail for it.
        if (!flight.joined || !isMillraceError(error, 'too-many-origins')) throw error;
      }
    }
  }

  /**
   * Chooses the origin or a node to ask. As with chunks, a request never waits for one that was
   * forwarded less often.
   */
  #flight(question: Question, signal: AbortSignal) {
    const { url, scope, client, demands, path } = question;
    const { clientOrigins, now } = this.#options;
    // A request that a signed link has let in must not fail with requests that have none, and after
    // a purge no request joins one from before it.
    const who = path.grant === undefined ? scope : 'signed';
    const what = `${question.name}${this.#options.purges.eraOfQuestion(url.href)}`;
    const name = `origin ${who} ${what}`;
    const fromOrigin = (end: AbortSignal) =>
      this.#flights.run(name, end, (all) =>
        this.#orStale(question, async () => {
          await stillWanted(all);
          return this.#kept(question, await this.#origin.ask(question, all));
        }),
      );
    const network = scope === 'public' ? this.#options.network : undefined;
    if (network === undefined || this.#flights.has(name)) return fromOrigin(signal);
    if (network.routeVersion(url.href, path, new Set()).to === 'origin') return fromOrigin(signal);
    const how = demands.revalidate ? 'anew' : (demands.maxAgeMs ?? '');
    return this.#flights.run(`${who} ${path.hops} ${how} ${what}`, signal, (all) =>
      this.#orStale(question, async () => {
        await stillWanted(all);
        // The other node sees only this node, and counts no client.
        clientOrigins.admit(client, scope, url.origin, now());
        const remote = await this.#ofNode(question, () =>
          network.findVersion(url.href, demands, path, all),
        );
        if (remote === undefined) return fromOrigin(all).result;
        if (remote.kind !== 'stream') return this.#learnt(question, remote);
        const fwd = question.known === undefined ? 'uri-miss' : 'stale';
        const followed = followRemote({ ...this.#options, network }, question, remote);
        // The stream may lead back here, or be more than this node keeps.
        if (followed === undefined) return fromOrigin(all).result;
        return { kind: 'stream', ...followed, outcome: { hit: false, fwd, detail: 'peer' } };
      }),
    );
  }

  /** Asks another node. Errors of an origin whose own answers clients get have to come from there. */
  async #ofNode<T>({ url }: Question, ask: () => Promise<T>): Promise<T | undefined> {
    try {
      return await ask();
    } catch (error) {
      const isOrigins = asMillraceError(error).row.scope === 'source';
      if (isOrigins && this.#options.passesAnswers(url)) return undefined;
      throw error;
    }
  }

  /** Keeps another node's answer as if the origin had given it. */
  #learnt(question: Question, remote: Exclude<RemoteVersion, { kind: 'stream' }>): Resolution {
    if (remote.kind === 'tunnel') {
      return this.#kept(question, { ...remote, take: () => undefined });
    }
    const fwd = question.known === undefined ? 'uri-miss' : 'stale';
    const outcome = { hit: false, fwd, detail: 'peer' } as const;
    if (remote.kind === 'answer') throw new AnsweredError(remote.answer, outcome);
    return this.#kept(question, { ...remote, outcome });
  }

  /** Keeps the resolution for later requests. */
  #kept({ name, scope, generation }: Question, resolution: Resolution): Resolution {
    const { pointers, wallClock } = this.#options;
    const settled = this.#settled(resolution);
    // Its pointer is kept once it is complete.
    if (settled.kind === 'stream') {
      pointers.dropAnswer(name, scope);
      return settled;
    }
    const entry =
      settled.kind === 'file'
        ? settled.pointer
        : { reason: settled.reason, until: wallClock() + TUNNEL_VERDICT_MS };
    pointers.put(name, scope, entry, generation);
    return settled;
  }

  /** Takes what is known by now of a file that came in one stream. @throws MillraceError */
  #settled(resolution: Resolution): Resolution {
    if (resolution.kind !== 'file') return resolution;
    return { ...resolution, ...this.#options.streams.settled(resolution.pointer) };
  }

  /** Falls back on the known pointer if the origin cannot be reached. */
  async #orStale(
    { name, scope, known, generation }: Question,
    ask: () => Promise<Resolution>,
  ): Promise<Resolution> {
    try {
      return await ask();
    } catch (error) {
      const now = this.#options.wallClock();
      const { code } = asMillraceError(error);
      const after = afterFailure(code, known?.freshness, now);
      if (after === 'stale' && known !== undefined) {
        const ttlSeconds = secondsLeft(known.freshness, now);
        const outcome = { hit: true, ttlSeconds, detail: 'stale-origin-down' } as const;
        return this.#settled({ kind: 'file', pointer: known, outcome });
      }
      if (known === undefined) this.#checkAbsent(name, scope, code, now);
      // A file that the origin denies or no longer has must no longer be served from memory.
      if (after === 'forgotten') this.#options.pointers.drop(name, scope);
      const isAnswer = error instanceof AnsweredError || error instanceof AbsentError;
      if (isAnswer && isKept(error.answer.freshness, now)) {
        this.#options.pointers.putAnswer(name, scope, error.answer, generation);
      }
      throw error;
    }
  }

  /**
   * Falls back on the origin's earlier answer that it has no such file.
   *
   * @throws the error of that answer, if it may be used after a failure
   */
  #checkAbsent(name: string, scope: Scope, code: ErrorCode, now: Millis): void {
    const answer = this.#options.pointers.answer(name, scope);
    if (answer === undefined || afterFailure(code, answer.freshness, now) !== 'stale') return;
    if (!isWhole(answer)) throw new AbsentError(answer);
    const ttlSeconds = secondsLeft(answer.freshness, now);
    throw new AnsweredError(answer, { hit: true, ttlSeconds, detail: 'stale-origin-down' });
  }
}

/** Returns true for an answer that later clients may get as well, if only while the origin fails. */
function isKept(freshness: Freshness, now: Millis): boolean {
  return freshness.notStorable === undefined && isUsableOnError(freshness, now);
}

/**
 * Waits until everything that has arrived with a request has been read: a client may have reset it
 * in the same packet. To end a request that was sent costs a connection to the origin or node.
 *
 * @throws the signal's reason
 */
async function stillWanted(signal: AbortSignal): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  signal.throwIfAborted();
}
