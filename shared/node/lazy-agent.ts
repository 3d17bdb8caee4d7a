/** An undici agent that costs nothing until a request is sent through it. */

import type { Agent } from 'undici';

/**
 * Loads undici with the first use. Loading it takes a good part of an edge's start, and many edges
 * never need it: plain http: uses our own connections, and an edge may have no peers.
 */
export class LazyAgent {
  readonly #options: Agent.Options;
  #agent: Promise<Agent> | undefined;
  #destroyed = false;

  constructor(options: Agent.Options) {
    this.#options = options;
  }

  /** Returns the agent, made by the first call. @throws Error once it has been destroyed */
  get(): Promise<Agent> {
    if (this.#destroyed) return Promise.reject(new Error('the agent is closed'));
    this.#agent ??= import('undici').then(({ Agent: Made }) => new Made(this.#options));
    return this.#agent;
  }

  /** Aborts all requests under way. */
  async destroy(): Promise<void> {
    this.#destroyed = true;
    await (await this.#agent)?.destroy();
  }
}
