/**
 * Looks up the addresses of published edges before they are asked for a file. Browsers reveal an
 * address only with an answer; the request made here, for the edge's root, has no side effects.
 */

import type { Millis } from '@millrace/shared/base/clock';
import type { BrowserApi } from '../browser/api.ts';
import { isWithinReach } from '../intercept/published-edges.ts';
import type { Published } from '../intercept/publishers.ts';

/** Time that a known address stays valid, ms. */
const KNOWN_MS = 5 * 60_000;
const MAX_KNOWN = 100;
/** Longest wait for an edge's answer, ms. */
const ANSWER_MS = 3000;

export class EdgeCheck {
  readonly #webRequest: BrowserApi['webRequest'];
  readonly #fetch: typeof fetch;
  /** Addresses of edges, by origin, in the order in which they were looked up. */
  readonly #known = new Map<string, { readonly ip: Promise<string | undefined>; at: Millis }>();

  constructor(webRequest: BrowserApi['webRequest'], ask: typeof fetch) {
    this.#webRequest = webRequest;
    this.#fetch = ask;
  }

  /** Returns the edges that are no further inside a network than the page that named them. */
  async withinReach({ edges, ip }: Published): Promise<string[]> {
    const found = await Promise.all(
      edges.map(async (edge) => ({ edge, address: await this.#addressOf(new URL(edge).origin) })),
    );
    return found.flatMap(({ edge, address }) => (isWithinReach(address, ip) ? [edge] : []));
  }

  #addressOf(origin: string): Promise<string | undefined> {
    const known = this.#known.get(origin);
    const now = Date.now();
    if (known !== undefined && now - known.at < KNOWN_MS) return known.ip;
    const ip = this.#ask(origin);
    this.#known.delete(origin);
    this.#known.set(origin, { ip, at: now });
    const [oldest] = this.#known.keys();
    if (this.#known.size > MAX_KNOWN && oldest !== undefined) this.#known.delete(oldest);
    return ip;
  }

  /** Requests an origin's root. @returns the address that answered; undefined if it is not known */
  async #ask(origin: string): Promise<string | undefined> {
    const { onResponseStarted, onBeforeRedirect } = this.#webRequest;
    // The random query tells this request from others.
    const url = `${origin}/?millrace=${crypto.randomUUID()}`;
    let address: string | undefined;
    const listener = (details: { readonly url: string; readonly ip?: string | undefined }) => {
      if (details.url === url) address = details.ip;
    };
    const filter = { urls: ['http://*/*', 'https://*/*'] };
    onResponseStarted.addListener(listener, filter);
    onBeforeRedirect.addListener(listener, filter);
    try {
      await this.#fetch(url, {
        method: 'HEAD',
        redirect: 'manual',
        credentials: 'omit',
        cache: 'no-store',
        referrerPolicy: 'no-referrer',
        signal: AbortSignal.timeout(ANSWER_MS),
      });
      // The event arrives separately from the answer.
      for (let turns = 0; turns < 20 && address === undefined; turns++) {
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      return address;
    } catch {
      return undefined;
    } finally {
      onResponseStarted.removeListener(listener);
      onBeforeRedirect.removeListener(listener);
    }
  }
}
