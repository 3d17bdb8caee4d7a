/** An undici agent that costs nothing until something is sent through it. */

import type { Agent } from 'undici';

/**
 * Loading undici is a good part of an edge's start. Much of what could need it never does: plain
 * http: goes over connections of our own, and who has no peers asks none.
 */
export class LazyAgent {
  readonly #options: Agent.Options;
  #agent: Promise<Agent> | undefined;
  #destroyed = false;

  constructor(options: Agent.Options) {
    this.#options = options;
  }

  /** The agent, made with the first call. @throws Error once it has been destroyed */
  get(): Promise<Agent> {
    if (this.#destroyed) return Promise.reject(new Error('the agent is closed'));
    this.#agent ??= import('undici').then(({ Agent: Made }) => new Made(this.#options));
    return this.#agent;
  }

  /** Breaks off whatever is under way. */
  async destroy(): Promise<void> {
    this.#destroyed = true;
    await (await this.#agent)?.destroy();
  }
}
