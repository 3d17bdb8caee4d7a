/**
 * The folder beside the certificate, in which the processes of an edge share what an order needs: the
 * account's key, the answers to challenges, and how the latest order went. Its mode is 0700.
 */

import { readFileSync } from 'node:fs';
import { mkdir, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Millis } from '@millrace/shared/base/clock';
import { type FailedOrders, NO_FAILURES } from '@millrace/shared/cdn/upkeep/certificate-plan';
import { replaceFile } from '@millrace/shared/node/files/replace-file';
import type { Config } from '../../config/config.ts';

/** State of the orders, as JSON. */
export interface OrderState {
  readonly failed: FailedOrders;
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

  /** Returns the state; that of no orders if it cannot be read. */
  state(): OrderState {
    try {
      const { failed, reason, nextAt } = JSON.parse(readFileSync(this.#state, 'utf8'));
      const { count, at } = failed;
      if (!Number.isSafeInteger(count) || typeof at !== 'number') return { failed: NO_FAILURES };
      return { failed: { count, at }, reason, nextAt };
    } catch {
      return { failed: NO_FAILURES };
    }
  }

  putState(state: OrderState): Promise<void> {
    return replaceFile(this.#state, JSON.stringify(state));
  }

  get #state(): string {
    return join(this.#path, 'state.json');
  }

  #answer(token: string): string {
    return join(this.#path, `answer-${token}`);
  }
}

/** Opens the folder of an edge that orders its certificate; undefined for others. */
export function certificateFolder({
  acmeName,
  tlsCert,
}: Pick<Config, 'acmeName' | 'tlsCert'>): AcmeFolder | undefined {
  return acmeName === undefined || tlsCert === undefined ? undefined : new AcmeFolder(tlsCert);
}
