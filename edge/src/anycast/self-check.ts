/** Checks an edge from outside, as a load balancer does: it must answer, not only be there. */

import type { Agent } from 'node:http';
import type { Millis } from '@millrace/shared/base/clock';

/** Longest time that an answer may take. */
const ANSWER_MS = 2000;
/** Checks in a row that must fail: a busy moment is no reason to break everybody's connections. */
const MAX_MISSES = 3;

export class SelfCheck {
  readonly #url: string;
  readonly #client: typeof import('node:http') | typeof import('node:https');
  // One connection: a full edge turns new ones away, but goes on serving those that it has.
  readonly #agent: Agent;
  #misses = 0;
  #answered = false;
  #asking: Promise<void> | undefined;

  /** @param base address of the edge; its certificate is not checked */
  constructor(base: string) {
    this.#url = `${base}/-/ready`;
    this.#client = process.getBuiltinModule(base.startsWith('https:') ? 'node:https' : 'node:http');
    this.#agent = new this.#client.Agent({ keepAlive: true, maxSockets: 1 });
  }

  /** True if the edge has answered, and not failed lately. */
  get healthy(): boolean {
    return this.#answered && this.#misses < MAX_MISSES;
  }

  /** Asks the edge once; joins a check that is under way. */
  ask(): Promise<void> {
    this.#asking ??= this.#answers().then((ready) => {
      this.#misses = ready ? 0 : this.#misses + 1;
      this.#answered ||= ready;
      this.#asking = undefined;
    });
    return this.#asking;
  }

  close(): void {
    this.#agent.destroy();
  }

  #answers(): Promise<boolean> {
    const options = {
      agent: this.#agent,
      rejectUnauthorized: false,
      signal: AbortSignal.timeout(ANSWER_MS satisfies Millis),
    };
    return new Promise((resolve) => {
      this.#client
        .request(this.#url, options)
        .on('response', (response) => {
          response.on('error', () => {}).resume();
          response.once('close', () => resolve(response.complete && response.statusCode === 200));
        })
        .on('error', () => resolve(false))
        .end();
    });
  }
}
