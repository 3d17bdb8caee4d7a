/** Tags that tell clients apart to other nodes, and tell them nothing else of a client. */

import { createHmac, randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';

const TAG_DIGITS = 16;
const MAX_TAGS = 1000;

export class ClientTags {
  readonly #key = randomBytes(16);
  /** Tags of the latest clients: making one costs more than the rest of a request's head. */
  readonly #tags = new LRUCache<string, string>({ max: MAX_TAGS });

  /** Returns a client's tag: hexadecimal digits, others after each start of this node. */
  of(client: string): string {
    const known = this.#tags.get(client);
    if (known !== undefined) return known;
    const digest = createHmac('sha256', this.#key).update(client).digest('hex');
    const tag = digest.slice(0, TAG_DIGITS);
    this.#tags.set(client, tag);
    return tag;
  }
}
