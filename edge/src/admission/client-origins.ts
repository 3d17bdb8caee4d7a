/**
 * Origins that each client makes this edge ask over time. Files served from caches ask no origin,
 * and are not counted.
 */

import { hash, randomBytes } from 'node:crypto';
import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import { OriginVisits } from '@millrace/shared/cdn/admission/origin-visits';
import type { ClientAddress } from '@millrace/shared/node/clients/client-address';
import type { Scope } from '../files/file-version.ts';
import { isNodeClient } from '../files/path.ts';
import type { OnRefusal } from './admissions.ts';

export interface ClientOriginsOptions {
  /** Other origins per minute and client, in bursts of up to five minutes' worth; 0: no limit. */
  readonly perMinute: number;
  readonly clientAddress: ClientAddress;
  readonly onRefusal: OnRefusal;
}

const BURST_MINUTES = 5;

export class ClientOrigins {
  readonly #options: ClientOriginsOptions;
  readonly #visits: OriginVisits | undefined;

  constructor(options: ClientOriginsOptions) {
    this.#options = options;
    const { perMinute } = options;
    if (perMinute === 0) return;
    const seed = randomBytes(16).toString('hex');
    this.#visits = new OriginVisits({
      perMinute,
      burst: BURST_MINUTES * perMinute,
      // 30 bits: V8 keeps such numbers in place.
      digest: (origin) => Number.parseInt(hash('sha256', seed + origin).slice(0, 8), 16) >>> 2,
    });
  }

  /** Bytes of memory that the remembered visits take. */
  get bytes(): number {
    return this.#visits?.bytes ?? 0;
  }

  /**
   * Admits that an origin is asked.
   *
   * @param client that asks: a client's key, or another node; undefined: none in particular
   * @param scope of the request: `private` ones, with the local token, are this edge's own user's
   * @param now monotonic milliseconds
   * @throws MillraceError `too-many-origins`
   */
  admit(client: string | undefined, scope: Scope, origin: string, now: Millis): void {
    if (this.#visits === undefined || client === undefined || scope === 'private') return;
    // Nodes and proxies have many clients each. Other nodes count their own.
    if (isNodeClient(client) || this.#options.clientAddress.isProxy(client)) return;
    const retryAfterMs = this.#visits.visit(client, origin, now);
    if (retryAfterMs === 0) return;
    this.#options.onRefusal('newOrigins', 'refused', client);
    const detail = `only ${this.#options.perMinute} others a minute`;
    throw new MillraceError('too-many-origins', detail, { retryAfterMs });
  }
}
