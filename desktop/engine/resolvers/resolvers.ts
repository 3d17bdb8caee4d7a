/** Asks resolvers: those whose patterns match, or the one that the user names. */

import { asMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { WaitingLine, waitInLine } from '@millrace/shared/base/waiting-line';
import { type Resolver, YT_DLP } from '@millrace/shared/bridge/rpc/settings-api';
import { isOfPatterns } from '@millrace/shared/download/resolve/link-pattern';
import type { ResolverAnswer } from '@millrace/shared/download/resolve/resolved';
import { withoutLogin } from '../net/credentials.ts';
import { readAnswer } from './answers.ts';
import { noResolver, readResolvers, setResolvers } from './resolver-list.ts';
import { runResolver } from './run-resolver.ts';

/** Resolvers that run at a time; others wait. */
const AT_ONCE = 2;
/** Time for which an answer is used again, in milliseconds: for a link that is looked at, then added. */
const KEPT_MS = 60_000;
const MAX_KEPT = 64;

/** An answer, and whose it is. */
export interface Found {
  readonly by: string;
  readonly answer: ResolverAnswer;
}

/** A question to a resolver. */
export interface Question {
  readonly url: string;
  /** Name of a resolver; false: none is asked; undefined: the first one that is for the URL. */
  readonly resolver?: string | false | undefined;
  /** True: an earlier answer will not do. */
  readonly anew?: boolean | undefined;
}

export class Resolvers {
  readonly #state: string;
  readonly #clock: () => number;
  readonly #kept = new Map<string, Found & { readonly at: number }>();
  readonly #waiting = new WaitingLine<() => void>();
  readonly #closing = new AbortController();
  #running = 0;

  /**
   * @param state state folder, which has the list
   * @param clock milliseconds, monotonic
   */
  constructor(state: string, clock: () => number = () => performance.now()) {
    this.#state = state;
    this.#clock = clock;
  }

  /** Reads the resolvers. @throws MillraceError `state-unusable` */
  list(): Promise<readonly Resolver[]> {
    return readResolvers(this.#state);
  }

  /** Replaces the resolvers. @throws MillraceError as `setResolvers` */
  set(resolvers: readonly unknown[]): Promise<void> {
    return setResolvers(this.#state, resolvers);
  }

  /** Ends all programs. */
  close(): void {
    this.#closing.abort();
  }

  /**
   * Asks about a URL.
   *
   * @returns undefined if no resolver is for it, or the one that is has nothing to say
   * @throws MillraceError `resolver-failed`, `resolver-refused`, `bad-option` for a name that no
   *   resolver has, `state-unusable`, `interrupted`
   */
  async ask(
    { url, resolver: wanted, anew = false }: Question,
    signal: AbortSignal,
  ): Promise<Found | undefined> {
    if (wanted === false) return undefined;
    const found = await this.#find(url, wanted);
    if (found === undefined) return undefined;
    const parsed = URL.parse(url);
    if (parsed === null || !/^https?:$/.test(parsed.protocol)) {
      throw new MillraceError('resolver-refused', { code: 'resolver-only-http' });
    }
    // A log-in in the URL is for the page's server, and no business of a program.
    const page = withoutLogin(url).replace(/#.*/s, '');
    const key = `${JSON.stringify(found)}\n${page}`;
    const kept = this.#kept.get(key);
    const isUsable = kept !== undefined && this.#clock() - kept.at < KEPT_MS;
    if (isUsable && !anew && !isOver(kept.answer)) return kept;
    const both = AbortSignal.any([signal, this.#closing.signal]);
    const answer = await this.#run(found, page, both);
    if (answer === undefined) return undefined;
    const result = { by: found.name, answer };
    this.#kept.delete(key);
    this.#kept.set(key, { ...result, at: this.#clock() });
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MAX_KEPT && oldest !== undefined) this.#kept.delete(oldest);
    return result;
  }

  async #find(url: string, wanted: string | undefined): Promise<Resolver | undefined> {
    const all = await this.list();
    if (wanted === undefined) {
      return all.find(({ patterns, off }) => off !== true && isOfPatterns(url, patterns));
    }
    const named = all.find(({ name }) => name === wanted);
    if (named?.off)
      throw new MillraceError('bad-option', { code: 'resolver-off', values: { name: wanted } });
    const found = named ?? (wanted === YT_DLP.name ? YT_DLP : undefined);
    if (found === undefined) throw new MillraceError('bad-option', noResolver(wanted));
    return found;
  }

  async #run(
    resolver: Resolver,
    page: string,
    signal: AbortSignal,
  ): Promise<ResolverAnswer | undefined> {
    while (this.#running >= AT_ONCE) {
      await waitInLine(this.#waiting, signal).catch(() => {
        throw new MillraceError('interrupted');
      });
    }
    this.#running++;
    try {
      const printed = await runResolver(resolver, page, signal);
      return readAnswer(printed, resolver.prints, page);
    } catch (error) {
      const { code, detail } = asMillraceError(error);
      if (code === 'interrupted' || detail.startsWith(`${resolver.name}: `)) throw error;
      throw new MillraceError(code, `${resolver.name}: ${detail}`, { cause: error });
    } finally {
      this.#running--;
      this.#waiting.take()?.();
    }
  }
}

function isOver({ expires }: ResolverAnswer): boolean {
  return expires !== undefined && expires <= Date.now();
}
