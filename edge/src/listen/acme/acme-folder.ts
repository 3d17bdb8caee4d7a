/**
 * The folder beside the certificate, in which the processes of an edge share what an order needs: the
 * account's key, the answers to challenges, and how the latest order went. Its mode is 0700.
 */

import { existsSync, readFileSync } from 'node:fs';
import { mkdir, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Millis } from '@millrace/shared/base/clock';
import {
  NO_EARLY,
  NO_FAILURES,
  type OrderCount,
} from '@millrace/shared/cdn/upkeep/certificate-plan';
import { replaceFile } from '@millrace/shared/node/files/replace-file';
import type { Config } from '../../config/config.ts';

/** State of the orders, as JSON. */
export interface OrderState {
  /** Orders in a row that have failed. */
  readonly failed: OrderCount;
  /** Orders in a row that came early, because the authority wanted it. */
  readonly early: OrderCount;
  /** Why the latest order has failed; undefined: it has not. */
  readonly reason?: string | undefined;
  /** Time of the next order, Unix milliseconds. */
  readonly nextAt?: Millis | undefined;
}

const TOKEN = /^[A-Za-z0-9_-]{1,128}$/;

export class AcmeFolder {
  readonly #path: string;

  /** @param cert path of the certificate */
  constructor(cert: string) {
    this.#path = join(dirname(cert), 'acme');
  }

  async create(): Promise<void> {
    await mkdir(this.#path, { recursive: true, mode: 0o700 });
  }

  /** Returns the key of the account, made by `make` if there is none. */
  async accountKey(make: () => Promise<Buffer>): Promise<Buffer> {
    const path = join(this.#path, 'account.key');
    try {
      return await readFile(path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
    const key = await make();
    await replaceFile(path, key.toString());
    return key;
  }

  async putAnswer(token: string, answer: string): Promise<void> {
    if (!TOKEN.test(token)) throw new Error('the authority has sent a malformed token');
    await replaceFile(this.#answer(token), answer);
  }

  async removeAnswer(token: string): Promise<void> {
    if (TOKEN.test(token)) await rm(this.#answer(token), { force: true });
  }

  /** Returns the answer to a challenge; undefined for tokens that no order waits for. */
  async answer(token: string): Promise<string | undefined> {
    if (!TOKEN.test(token)) return undefined;
    return readFile(this.#answer(token), 'utf8').catch(() => undefined);
  }

  /** @param pair key and certificate of a challenge at the port for TLS, PEM */
  putChallenge(pair: string): Promise<void> {
    return replaceFile(this.#challenge, pair);
  }

  removeChallenge(): Promise<void> {
    return rm(this.#challenge, { force: true });
  }

  /** Returns key and certificate of the challenge at the port for TLS; undefined: no order waits for one. */
  challenge(): Buffer | undefined {
    if (!existsSync(this.#challenge)) return undefined;
    try {
      return readFileSync(this.#challenge);
    } catch {
      return undefined; // the order has ended meanwhile
    }
  }

  /** Returns the state; that of no orders if it cannot be read. */
  state(): OrderState {
    try {
      const { failed, early, reason, nextAt } = JSON.parse(readFileSync(this.#state, 'utf8'));
      // States of versions that did not count early orders have none.
      return { failed: readCount(failed), early: readCount(early ?? NO_EARLY), reason, nextAt };
    } catch {
      return { failed: NO_FAILURES, early: NO_EARLY };
    }
  }

  putState(state: OrderState): Promise<void> {
    return replaceFile(this.#state, JSON.stringify(state));
  }

  get #state(): string {
    return join(this.#path, 'state.json');
  }

  get #challenge(): string {
    return join(this.#path, 'challenge.pem');
  }

  #answer(token: string): string {
    return join(this.#path, `answer-${token}`);
  }
}

/** @throws Error if the value is none */
function readCount({ count, at }: OrderCount): OrderCount {
  if (!Number.isSafeInteger(count) || typeof at !== 'number') throw new Error('malformed');
  return { count, at };
}

/** Orders of an edge's certificate, as its processes know of them. */
export interface CertificateOrders {
  readonly folder: AcmeFolder;
  /** Name of the certificate, in lower case. */
  readonly name: string;
}

/** Returns the orders of an edge that gets its certificate by itself; undefined for others. */
export function certificateOrders({
  acmeName: name,
  tlsCert,
}: Pick<Config, 'acmeName' | 'tlsCert'>): CertificateOrders | undefined {
  if (name === undefined || tlsCert === undefined) return undefined;
  return { folder: new AcmeFolder(tlsCert), name };
}
