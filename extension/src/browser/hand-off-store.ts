/**
 * Stores hand-offs. Their state is on disk, one entry each, so that it survives a crash; their
 * offers, which contain cookies, are in memory that outlives only the background.
 */

import { tryRead } from '@millrace/shared/schema/read';
import * as z from 'zod';
import type { Offer } from '../contract/taker.ts';
import type { HandOff } from '../hand-off/hand-off.ts';
import type { StorePort } from '../hand-off/ports.ts';
import type { BrowserApi } from './api.ts';

const PREFIX = 'hand-off:';
const OFFER = 'offer:';
const millis = z.number().min(0);

/** Shape of a stored hand-off, which may be damaged or of an older version of this extension. */
const handOffSchema = z.object({
  id: z.uuid(),
  download: z.object({ id: z.number().int(), begunAt: millis, path: z.string().optional() }),
  pauses: z.boolean(),
  takers: z.array(z.enum(['desktop', 'browser', 'remote'])).min(1),
  phase: z.enum([
    'pausing',
    'offering',
    'checking',
    'committing',
    'asking',
    'settling',
    'ending',
    'restoring',
    'doubtful',
    'discarding',
    'removing',
  ]),
  dueAt: millis,
  endsAt: millis,
  doubtAt: millis.optional(),
  takenAs: z.string().optional(),
});

export class HandOffStore implements StorePort {
  readonly #storage: BrowserApi['storage'];

  constructor(storage: BrowserApi['storage']) {
    this.#storage = storage;
  }

  async load(): Promise<readonly HandOff[]> {
    const all: Record<string, unknown> = await this.#storage.local.get(null);
    return Object.entries(all).flatMap(([key, value]) => {
      const handOff = key.startsWith(PREFIX) ? tryRead(handOffSchema, value).data : undefined;
      return handOff === undefined ? [] : [handOff];
    });
  }

  async put(handOff: HandOff): Promise<void> {
    await this.#storage.local.set({ [PREFIX + handOff.id]: handOff });
  }

  async remove(id: string): Promise<void> {
    await this.#storage.local.remove(PREFIX + id);
    await this.#storage.session.remove(OFFER + id);
  }

  async putOffer(offer: Offer): Promise<void> {
    await this.#storage.session.set({ [OFFER + offer.handOff]: offer });
  }

  async offer(id: string): Promise<Offer | undefined> {
    const key = OFFER + id;
    return (await this.#storage.session.get(key))[key] as Offer | undefined;
  }
}
