/**
 * undici's pools of connections, one for each origin, so that the connections to one origin can be
 * closed.
 */

import type { ClientTls } from '@millrace/shared/node/open-socket';
import type { Pool } from 'undici';

type Undici = typeof import('undici');

export class OriginAgents {
  readonly #options: Pool.Options;
  readonly #tls: ((url: URL) => ClientTls | undefined) | undefined;
  readonly #pools = new Map<string, Pool>();
  /** undici, loaded when first needed: it would take a good part of an edge's start. */
  #loading: Promise<void> | undefined;
  #undici: Undici | undefined;
  #closed = false;

  /** @param tls returns certificates for connections to an origin */
  constructor(tls: ((url: URL) => ClientTls | undefined) | undefined, options: Pool.Options) {
    this.#tls = tls;
    this.#options = options;
  }

  /** Loads undici. */
  ready(): Promise<void> {
    this.#loading ??= import('undici').then((undici) => {
      this.#undici = undici;
    });
    return this.#loading;
  }

  /**
   * Returns the pool of an origin. @throws Error before `ready` has resolved, and once all are
   * closed
   */
  get(origin: string): Pool {
    if (this.#closed || this.#undici === undefined) throw new Error('there are no pools');
    let pool = this.#pools.get(origin);
    if (pool === undefined) {
      const { connect } = this.#options;
      const shown = this.#tls?.(new URL(origin));
      const options = { ...this.#options, connect: { ...Object(connect), ...shown } };
      pool = new this.#undici.Pool(origin, shown === undefined ? this.#options : options);
      this.#pools.set(origin, pool);
    }
    return pool;
  }

  /**
   * Closes the connections to an origin.
   *
   * @param error that requests under way fail with
   */
  close(origin: string, error: Error): void {
    const pool = this.#pools.get(origin);
    this.#pools.delete(origin);
    pool?.destroy(error).catch(() => {});
  }

  /** Closes all connections, and breaks off all requests under way. */
  async destroy(): Promise<void> {
    this.#closed = true;
    const pools = [...this.#pools.values()];
    this.#pools.clear();
    await Promise.all(pools.map((pool) => pool.destroy()));
  }
}
