/**
 * Keeps the paired daemon of another machine in the extension's storage, which no page can read. It
 * is no part of the settings: those are shown, and the token never is.
 */

import { tryRead } from '@millrace/shared/schema/read';
import * as z from 'zod';
import { remoteOrigin } from '../contract/remote.ts';
import type { Pairing } from './remote-link.ts';

const KEY = 'remote';

const schema = z.object({
  // Cookies of the browser go there, so a stored address without TLS counts as none.
  url: z.string().refine((url) => remoteOrigin(url) === url),
  token: z.string().min(1).max(256),
});

/** The members in use of the browser's storage. */
interface Storage {
  get(key: string): Promise<Record<string, unknown>>;
  set(items: Record<string, unknown>): Promise<void>;
  remove(key: string): Promise<void>;
}

export class KeptPairing {
  readonly #storage: Storage;

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  readonly read = async (): Promise<Pairing | undefined> => {
    const stored = await this.#storage.get(KEY);
    return tryRead(schema, stored[KEY]).data;
  };

  async keep({ url, token }: Pairing): Promise<void> {
    await this.#storage.set({ [KEY]: { url, token } });
  }

  async forget(): Promise<void> {
    await this.#storage.remove(KEY);
  }
}
