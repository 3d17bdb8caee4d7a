/**
 * Counts the use of each origin by all clients of this edge: quotas of bytes, transfers at once,
 * bytes per second. An origin is a host and port, as in the Host field.
 */

import { readFileSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MillraceError } from '@millrace/shared/base/errors';
import type { Log } from '@millrace/shared/base/log';
import { TokenBucket } from '@millrace/shared/base/token-bucket';
import { ByteQuotas } from '@millrace/shared/cdn/admission/byte-quota';
import type { OriginRule } from '../policy/origin-rules.ts';
import type { OnRefusal } from './admissions.ts';
import type { Admission } from './client-limits.ts';

export interface OriginUseOptions {
  /** This process's part of the limits of the edge as a whole, more than 0 and at most 1. */
  readonly share: number;
  /** Unix milliseconds. */
  readonly wallClock: () => number;
  /** Called when a client is refused or delayed. */
  readonly onRefusal?: OnRefusal;
}

/** Origins with transfers or a rate remembered at a time; those without transfers go first. */
const MAX_ORIGINS = 10_000;
const FILE = 'quotas.json';

interface Origin {
  transfers: number;
  rate: number;
  bucket: TokenBucket | undefined;
}

/** Reports of a transfer to its origin's limits: the part of an admission that concerns origins. */
export type OriginAdmission = Omit<Admission, 'fetched'>;

export class OriginUse {
  readonly #options: OriginUseOptions;
  readonly #quotas = new ByteQuotas();
  readonly #origins = new Map<string, Origin>();

  constructor(options: OriginUseOptions) {
    this.#options = options;
  }

  /**
   * Admits a transfer of a file of an origin. The quota is checked only here: transfers under way
   * when it is used up are completed.
   *
   * @param client address of the client
   * @param now monotonic milliseconds
   * @throws MillraceError `quota-exhausted`, `origin-busy`
   */
  admit(url: URL, rule: OriginRule, client: string, now: number): OriginAdmission {
    const { quota, transfers, rate } = rule;
    const { share, wallClock, onRefusal } = this.#options;
    const name = url.host;
    if (quota !== undefined) {
      const wait = this.#quotas.waitMs(name, quota.bytes * share, quota.per, wallClock());
      if (wait > 0) {
        onRefusal?.('originUse', 'refused', client);
        throw new MillraceError('quota-exhausted', name, { retryAfterMs: wait });
      }
    }
    const origin = this.#origin(name);
    if (transfers !== undefined && origin.transfers >= Math.max(1, Math.ceil(transfers * share))) {
      onRefusal?.('originUse', 'refused', client);
      const detail = `${origin.transfers} transfers of its files are under way here`;
      throw new MillraceError('origin-busy', detail, { retryAfterMs: 1000 });
    }
    if (rate === undefined) origin.bucket = undefined;
    else if (origin.bucket === undefined || origin.rate !== rate) {
      origin.bucket = new TokenBucket(rate * share, rate * share, now);
      origin.rate = rate;
    }
    origin.transfers++;
    let [released, delayed] = [false, false];
    return {
      waitMs: (at) => {
        const wait = origin.bucket?.waitMs(at) ?? 0;
        if (wait > 0 && !delayed) onRefusal?.('originUse', 'delayed', client);
        delayed ||= wait > 0;
        return wait;
      },
      sent: (bytes, at) => {
        origin.bucket?.take(bytes, at);
        if (quota !== undefined) this.#quotas.take(name, bytes, quota.per, wallClock());
      },
      release: () => {
        if (!released) origin.transfers--;
        released = true;
      },
    };
  }

  /**
   * Keeps the quotas in a folder from now on, so that a restart does not reset them.
   *
   * @returns a function that writes them down
   */
  keepIn(dir: string, log: Log): () => Promise<void> {
    const path = join(dir, FILE);
    try {
      this.#quotas.restore(JSON.parse(readFileSync(path, 'utf8')));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') {
        log.warn({ path, reason: (error as Error).message }, 'the quotas start again at zero');
      }
    }
    let written = '';
    return async () => {
      const text = JSON.stringify(this.#quotas.save(this.#options.wallClock()));
      if (text === written) return;
      try {
        await writeFile(`${path}.new`, text);
        await rename(`${path}.new`, path);
        written = text;
      } catch (error) {
        log.warn({ path, reason: (error as Error).message }, 'the quotas cannot be written down');
      }
    };
  }

  #origin(name: string): Origin {
    let origin = this.#origins.get(name);
    if (origin === undefined) {
      if (this.#origins.size >= MAX_ORIGINS) this.#forgetIdle();
      origin = { transfers: 0, rate: 0, bucket: undefined };
      this.#origins.set(name, origin);
    }
    return origin;
  }

  #forgetIdle(): void {
    for (const [name, { transfers }] of this.#origins) {
      if (transfers === 0) this.#origins.delete(name);
    }
  }
}

/** Joins the admissions by a client's limits and an origin's limits. */
export function together(client: Admission, origin: OriginAdmission): Admission {
  return {
    waitMs: (now) => Math.max(client.waitMs(now), origin.waitMs(now)),
    sent: (bytes, now) => {
      client.sent(bytes, now);
      origin.sent(bytes, now);
    },
    fetched: (bytes) => client.fetched(bytes),
    release: (now) => {
      client.release(now);
      origin.release(now);
    },
  };
}
