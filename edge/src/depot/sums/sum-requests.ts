/** Requests to the thread of sums (`sum-thread.ts`), and its answers. */

import { createHash, type Hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { SumsWriter } from '@millrace/shared/cdn/depot/sums';
import { freeBytes } from '@millrace/shared/node/memory/free-bytes';

/** A digest, and the offset at which bytes are to be added to it. */
export interface DigestPlace {
  readonly digest: number;
  readonly start: number;
}

/** Requests, which are answered in order. Appends and digests are numbered by who asks. */
export type SumRequest =
  /** Begins the records of an append at an offset. */
  | { readonly kind: 'begin'; readonly append: number; readonly at: number }
  /** Adds bytes to the records of an append, and to a digest. */
  | {
      readonly kind: 'add';
      readonly append?: number;
      readonly place?: DigestPlace | undefined;
      readonly parts: readonly Uint8Array[];
    }
  /** Returns the records of all bytes that have none yet. */
  | { readonly kind: 'cut'; readonly append: number }
  | { readonly kind: 'end'; readonly append: number }
  /** Returns a digest of all bytes so far, hexadecimal. */
  | { readonly kind: 'digest'; readonly digest: number }
  | { readonly kind: 'forget'; readonly digest: number };

export type SumAnswer = undefined | Uint8Array | string;

interface Running {
  readonly hash: Hash;
  end: number;
}

/** Records and digests under way. */
export class SumsUnderWay {
  readonly #appends = new Map<number, SumsWriter>();
  readonly #digests = new Map<number, Running>();

  /** Carries out a request. @throws Error if its append or its digest is not known */
  answer(request: SumRequest): SumAnswer {
    switch (request.kind) {
      case 'begin':
        this.#appends.set(request.append, new SumsWriter(crc32, request.at));
        return undefined;
      case 'add':
        return this.#add(request);
      case 'cut':
        return this.#append(request.append).cut();
      case 'end':
        this.#appends.delete(request.append);
        return undefined;
      case 'digest':
        return this.#digest(request.digest).hash.copy().digest('hex');
      case 'forget':
        this.#digests.delete(request.digest);
        return undefined;
    }
  }

  #add({ append, place, parts }: Extract<SumRequest, { readonly kind: 'add' }>): undefined {
    const writer = append === undefined ? undefined : this.#append(append);
    const running = place && this.#at(place);
    for (const part of parts) {
      writer?.add(part);
      running?.hash.update(part);
      if (running !== undefined) running.end += part.length;
      freeBytes(part);
    }
  }

  /** Returns the digest that ends at a place; a new one at the beginning of a file. */
  #at({ digest, start }: DigestPlace): Running {
    if (start === 0) this.#digests.set(digest, { hash: createHash('sha256'), end: 0 });
    const running = this.#digest(digest);
    if (running.end !== start) throw new Error(`a digest ends at ${running.end}, not ${start}`);
    return running;
  }

  #append(append: number): SumsWriter {
    const writer = this.#appends.get(append);
    if (writer === undefined) throw new Error('an append is not known');
    return writer;
  }

  #digest(digest: number): Running {
    const running = this.#digests.get(digest);
    if (running === undefined) throw new Error('a digest is not known');
    return running;
  }
}
