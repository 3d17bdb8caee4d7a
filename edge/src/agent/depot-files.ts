/**
 * Files of other nodes' depots, for clients of this one. The depot alone knows the capabilities: it
 * is asked with the SHA-256 of the secret that a client has shown, and its answer is remembered.
 * Within a minute, and while the depot is silent for as long as the lease lasts, the same secret is
 * then recognised here. What is remembered stays in memory: the disk learns no proof.
 *
 * Clients that guess cost little. An id that names no depot is refused here; one that does is asked
 * for once in a while, and wrong guesses for one depot are limited over all clients together.
 */

import type { Millis } from '@millrace/shared/base/clock';
import { asMillraceError, isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { SingleFlight } from '@millrace/shared/base/single-flight';
import { TokenBucket } from '@millrace/shared/base/token-bucket';
import { ENTRY_BYTES, OBJECT_BYTES, textBytes } from '@millrace/shared/cdn/admission/memory-weight';
import {
  depotFileId,
  depotFileUrl,
  depotTagOf,
  stateOfFile,
} from '@millrace/shared/cdn/depot/depot-file';
import type { PurgeTarget } from '@millrace/shared/cdn/upkeep/purge-target';
import type { DepotLink } from '@millrace/shared/http/urls/depot-link';
import { LRUCache } from 'lru-cache';
import type { Purges } from '../cache/purges.ts';
import { ownText } from '../files/file-version.ts';
import type { StoredFile } from '../peers/depot-message.ts';
import type { DepotPeers } from '../peers/depot-peers.ts';
import { isSameProof, proofOf } from '../policy/proofs.ts';

export interface DepotFilesOptions {
  readonly depots: Pick<DepotPeers, 'ask' | 'knows' | 'mayFind' | 'answers' | 'unknown'>;
  readonly purges: Purges;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
  /** Unix milliseconds. */
  readonly wallClock: () => Millis;
}

/** A file of a depot, as this node knows it. */
export interface KnownFile extends Omit<StoredFile, 'leftMs'> {
  readonly id: string;
  /** SHA-256 of the secret of its links, hexadecimal. */
  readonly proof: string;
  /** Unix milliseconds by this node's clock. */
  readonly askedAt: Millis;
  readonly leaseEnd: Millis;
  /** Generation of purges in which the depot was asked. */
  readonly generation: number;
}

/** A file that clients are reading. */
interface InUse {
  file: KnownFile;
  readonly readers: Set<AbortController>;
  isAsked: boolean;
}

/** Questions under way to a depot about files that may not exist. */
interface Asking {
  count: number;
  /** Resolves when one of them has ended, with the error if it has failed. */
  next: PromiseWithResolvers<MillraceError | undefined>;
}

/** Memory for known files; the least recently used ones are forgotten. */
const MAX_KNOWN_BYTES = 4 * 1024 * 1024;
/** Wrong links that are remembered, and for how long. */
const MAX_WRONG = 10_000;
const WRONG_MS: Millis = 10_000;
/** Weight of one: an entry, and an id and a proof in its key. */
const WRONG_BYTES = ENTRY_BYTES + 96;
/** Questions that bring no file of one depot: per second, and at once. */
const WRONG_PER_SECOND = 5;
const WRONG_BURST = 50;
/** Most depots for which these are counted. */
const MAX_DEPOTS = 1000;
/** Questions about one file whose answers a purge may cross before its clients are told so. */
const MAX_CROSSED = 5;
/** Answers of a depot that end what was known of a file. */
const GONE = ['no-such-allocation', 'allocation-expired', 'content-blocked'] as const;
const FOR_EVER = new AbortController().signal;

export class DepotFiles {
  readonly #options: DepotFilesOptions;
  readonly #known = new LRUCache<string, KnownFile>({
    maxSize: MAX_KNOWN_BYTES,
    sizeCalculation: ({ id, name = '', type = '' }) =>
      ENTRY_BYTES + OBJECT_BYTES + 128 + textBytes(id + name + type),
  });
  /** Why links lead to nothing. */
  readonly #wrong: LRUCache<string, (typeof GONE)[number]>;
  readonly #guesses = new LRUCache<string, TokenBucket>({ max: MAX_DEPOTS });
  /** By depot. */
  readonly #asking = new Map<string, Asking>();
  readonly #flights = new SingleFlight<string, KnownFile>();
  readonly #inUse = new Map<string, InUse>();

  constructor(options: DepotFilesOptions) {
    this.#options = options;
    this.#wrong = new LRUCache({ max: MAX_WRONG, ttl: WRONG_MS, perf: { now: options.now } });
  }

  /** Memory of all that is remembered, bytes. */
  get bytes(): number {
    return this.#known.calculatedSize + this.#wrong.size * WRONG_BYTES;
  }

  /** Returns true if a node is known that has the depot of an id. */
  isElsewhere(id: string): boolean {
    return this.#options.depots.knows(id);
  }

  /** Returns true if some node is asked about an id: one with its depot, or with a copy of its exNode. */
  mayFind(id: string): boolean {
    return this.#options.depots.mayFind(id);
  }

  /** Returns true if such a node answers at the moment. */
  answers(id: string): boolean {
    return this.#options.depots.answers(id);
  }

  /**
   * Finds the file of a link.
   *
   * @param mayGuess called before a depot is asked about a file that may not exist; throws if the
   *   client has guessed too often
   * @throws MillraceError `no-such-allocation` for an unknown id and a wrong secret alike; the other
   *   errors of `Depot.findFor`; `depot-unreachable`, `too-many-requests`; the signal's reason
   */
  async find(link: DepotLink, signal: AbortSignal, mayGuess: () => void): Promise<KnownFile> {
    const { depots, wallClock } = this.#options;
    const { id } = link;
    const proof = proofOf(link.secret);
    let known = this.#get(id);
    while (known === undefined) {
      const asked = this.#askIfNew(id, proof, signal, mayGuess);
      if ('answer' in asked) return asked.answer;
      const failure = await asked.next.promise;
      signal.throwIfAborted();
      if (failure?.code === 'depot-unreachable') throw failure;
      known = this.#get(id);
    }
    // Links of a file never change, so the depot need not be asked.
    if (!isSameProof(proof, known.proof)) throw new MillraceError('no-such-allocation');
    const state = stateOfFile(known, wallClock());
    if (state === 'fresh') return known;
    if (state === 'stale' && !depots.answers(id)) return known;
    try {
      return await this.#ask(id, proof, signal);
    } catch (error) {
      if (!isMillraceError(error, 'depot-unreachable')) throw error;
      if (stateOfFile(known, wallClock()) === 'over') throw new MillraceError('allocation-expired');
      return known;
    }
  }

  /**
   * Registers a client that reads a file.
   *
   * @param reader aborted when the file turns out to be gone, or its lease to be over
   * @returns removes it again
   */
  use(file: KnownFile, reader: AbortController): () => void {
    let inUse = this.#inUse.get(file.id);
    if (inUse === undefined) {
      inUse = { file, readers: new Set(), isAsked: false };
      this.#inUse.set(file.id, inUse);
    } else if (file.askedAt > inUse.file.askedAt) inUse.file = file;
    const { readers } = inUse;
    readers.add(reader);
    return () => {
      readers.delete(reader);
      if (readers.size === 0) this.#inUse.delete(file.id);
    };
  }

  /** Asks again about files in use that a purge covers: depots tell of changes by purges. */
  onPurge(target: PurgeTarget): void {
    const ids =
      target.kind === 'url' || target.kind === 'version'
        ? [depotFileId(target.url) ?? '']
        : [...this.#inUse.keys()];
    for (const id of ids) {
      const inUse = this.#inUse.get(id);
      if (inUse !== undefined && this.#isVoid(inUse.file)) void this.#askAgain(inUse);
    }
  }

  /** Asks again about files in use whose lease is over as far as this node knows. */
  collect(): void {
    const now = this.#options.wallClock();
    for (const inUse of this.#inUse.values()) {
      if (stateOfFile(inUse.file, now) === 'over') void this.#askAgain(inUse);
    }
  }

  async #askAgain(inUse: InUse): Promise<void> {
    if (inUse.isAsked) return;
    inUse.isAsked = true;
    const { id, proof } = inUse.file;
    try {
      inUse.file = await this.#ask(id, proof, FOR_EVER);
    } catch (error) {
      const isGone = GONE.some((code) => isMillraceError(error, code));
      const isOver = stateOfFile(inUse.file, this.#options.wallClock()) === 'over';
      if (!isGone && !isOver) return;
      const reason = isGone ? error : new MillraceError('allocation-expired');
      for (const reader of inUse.readers) reader.abort(reason);
    } finally {
      inUse.isAsked = false;
    }
  }

  /**
   * Asks about a file that may not exist, within the limit on such questions: it must hold even if
   * all that are under way turn out to be wrong. Many right links that are new to this node, as after
   * its start, wait for each other.
   *
   * @returns the answer, or the questions one of which has to end first
   * @throws as `find`
   */
  #askIfNew(
    id: string,
    proof: string,
    signal: AbortSignal,
    mayGuess: () => void,
  ): { readonly answer: Promise<KnownFile> } | Asking {
    const { depots, now } = this.#options;
    if (!depots.mayFind(id)) throw depots.unknown();
    const wrong = this.#wrong.get(`${id} ${proof}`);
    if (wrong !== undefined) throw new MillraceError(wrong);
    // A crowd with one new link is one question.
    if (this.#flights.has(this.#question(id, proof))) {
      return { answer: this.#ask(id, proof, signal) };
    }
    mayGuess();
    const tag = depotTagOf(id);
    const bucket = this.#bucket(tag);
    const asking = this.#asking.get(tag) ?? { count: 0, next: Promise.withResolvers() };
    const waitMs = bucket.waitMs(now(), asking.count + 1);
    if (waitMs > 0 && asking.count > 0) return asking;
    if (waitMs > 0) {
      throw new MillraceError('too-many-requests', 'wrong links to files of that depot', {
        retryAfterMs: Math.max(1000, waitMs),
      });
    }
    const answer = this.#ask(id, proof, signal);
    asking.count++;
    this.#asking.set(tag, asking);
    const ended = (error?: MillraceError) => {
      // A client that leaves before the answer has cost the depot as much.
      if (error?.code === 'no-such-allocation' || signal.aborted) bucket.take(1, now());
      asking.count--;
      if (asking.count === 0) this.#asking.delete(tag);
      asking.next.resolve(error);
      asking.next = Promise.withResolvers();
    };
    answer.then(
      () => ended(),
      (error: unknown) => ended(asMillraceError(error)),
    );
    return { answer };
  }

  /** Returns the limit on wrong questions to a depot. */
  #bucket(tag: string): TokenBucket {
    let bucket = this.#guesses.get(tag);
    if (bucket === undefined) {
      bucket = new TokenBucket(WRONG_PER_SECOND, WRONG_BURST, this.#options.now());
      this.#guesses.set(tag, bucket);
    }
    return bucket;
  }

  /** Asks the depot, or waits for its answer to the same question. */
  #ask(id: string, proof: string, signal: AbortSignal): Promise<KnownFile> {
    const { purges, depots, wallClock } = this.#options;
    return this.#flights.run(this.#question(id, proof), signal, async (all) => {
      try {
        for (let crossed = 0; crossed < MAX_CROSSED; crossed++) {
          const generation = purges.current;
          // From before the question: the lease must not end later here than it does there.
          const askedAt = wallClock();
          const { leftMs, ...stored } = await depots.ask(id, proof, all);
          const file = { ...stored, id: ownText(id), proof, askedAt, generation };
          const known = { ...file, leaseEnd: askedAt + leftMs };
          // The file may have changed while the answer was on its way.
          if (this.#isVoid(known)) continue;
          this.#known.set(known.id, known);
          return known;
        }
        throw new MillraceError('depot-unreachable', 'the file changes all the time');
      } catch (error) {
        const gone = GONE.find((code) => isMillraceError(error, code));
        if (gone === undefined) throw error;
        this.#wrong.set(`${id} ${proof}`, gone);
        if (this.#known.peek(id)?.proof === proof) this.#known.delete(id);
        throw error;
      }
    }).result;
  }

  /** Names a question. After a purge no request waits for the answer to one from before it. */
  #question(id: string, proof: string): string {
    return `${id} ${proof}${this.#options.purges.era(depotFileUrl(id), undefined)}`;
  }

  /** Returns what is known of a file, unless it was purged since. */
  #get(id: string): KnownFile | undefined {
    const known = this.#known.get(id);
    if (known === undefined || !this.#isVoid(known)) return known;
    this.#known.delete(id);
    return undefined;
  }

  #isVoid({ id, generation }: KnownFile): boolean {
    return this.#options.purges.isVoid(depotFileUrl(id), undefined, generation);
  }
}
