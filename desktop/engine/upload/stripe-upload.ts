/**
 * Uploads a file in coded shards to as many depots as there are shards, and makes the exNode that
 * describes it. The file is read once, and all depots are sent to at the same time. A depot that
 * falls out is sent the rest in a further pass over the file, which begins where that depot is. After
 * a time it is given up: its shards go to a depot that is spare, or are left out.
 */

import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import { Stripe } from '@millrace/shared/exnode/stripe';
import { openSource } from '../archive/open-source.ts';
import type { UploadSource } from '../archive/upload-source.ts';
import { EncryptedFile } from './encrypted-file.ts';
import { fileLinks } from './file-links.ts';
import { mayRetry, Retry } from './retry.ts';
import { storeDocuments } from './spread/store-documents.ts';
import type { Spread, SpreadObserver, SpreadOptions } from './spread-upload.ts';
import { stripePass } from './stripe-pass.ts';
import { released, StripePlaces } from './stripe-places.ts';
import type { GivenData } from './stripe-reader.ts';
import type { StripeSpace } from './stripe-space.ts';
import type { StripeDigests } from './stripe-worker.ts';
import { stripedExnode } from './striped-exnode.ts';

/** Time without progress after which a depot is given up while another one is spare. */
const SPARE_MS: Millis = 15_000;

export interface StripeObserver extends SpreadObserver {
  /**
   * Called in the end for each depot that has failed and has no other in its place: its shards are
   * stored nowhere.
   *
   * @param mayFail number of the other depots of which any may fail
   */
  lacking(edge: string, error: MillraceError, mayFail: number): void;
}

export interface StripeOptions extends Omit<SpreadOptions, 'copies' | 'observe'> {
  /** Numbers of data and of parity shards: together no more than there are depots. */
  readonly data: number;
  readonly parity: number;
  readonly observe: StripeObserver;
}

/** A depot that is given up, and nobody takes its place. */
interface Lost {
  readonly edge: string;
  readonly error: MillraceError;
  readonly space: StripeSpace | undefined;
}

/**
 * Uploads a file. Depots beyond those that are needed take the place of depots that refuse, or fail
 * for good. Without such, the shards of a depot that fails are left out if at least one depot more
 * may fail then.
 *
 * @throws MillraceError as `upload`; `bad-option` if two addresses are one depot; `too-few-depots`
 */
export async function stripeUpload(options: StripeOptions): Promise<Spread> {
  const { path, state, signal, encrypts = false } = options;
  const source = options.source ?? (await openSource(path, signal));
  try {
    const encrypted = encrypts ? await EncryptedFile.open(path, source, state) : undefined;
    try {
      const upload = new StripeUpload(options, source, encrypted);
      return await upload.run().finally(() => upload.unlock());
    } finally {
      await encrypted?.close();
    }
  } finally {
    await options.history.save();
    if (options.source === undefined) await source.close();
  }
}

/** Returns what the reading thread is given; undefined if it reads the file itself. */
function givenOf(
  source: UploadSource,
  encrypted: EncryptedFile | undefined,
): GivenData | undefined {
  const check = () => source.check();
  if (encrypted !== undefined) return { isEncrypted: true, read: encrypted.read, check };
  if (source.file !== undefined) return undefined;
  const read = async (position: number, bytes: number) => {
    const into = Buffer.allocUnsafe(bytes);
    return into.subarray(0, await source.read(into, position));
  };
  return { isEncrypted: false, read, check };
}

class StripeUpload {
  readonly #options: StripeOptions;
  readonly #source: UploadSource;
  /** The ciphertext, which is stored in place of the file; undefined: the file itself is stored. */
  readonly #encrypted: EncryptedFile | undefined;
  readonly #stripe: Stripe;
  #retry: Retry;
  readonly #places: StripePlaces;
  /** Depots that are given up, and whose places are empty. */
  readonly #lost = new Map<number, Lost>();
  /** Failures of the last pass. */
  readonly #failures = new Map<number, MillraceError>();
  /** Bytes that have been handed to each connection, or are stored. */
  readonly #sent = new Map<StripeSpace, number>();
  #digests: StripeDigests | undefined;
  #hasBegun = false;

  constructor(options: StripeOptions, source: UploadSource, encrypted: EncryptedFile | undefined) {
    this.#options = options;
    this.#source = source;
    const { state: fileState } = source;
    this.#encrypted = encrypted;
    this.#stripe = new Stripe(fileState.bytes, options.data, options.parity);
    this.#places = new StripePlaces({
      ...options,
      ...{ fileState, encrypted, stripe: this.#stripe, newRetry: () => this.#newRetry() },
    });
    this.#retry = this.#newRetry();
  }

  async run(): Promise<Spread> {
    await this.#places.takeAll();
    await this.#store();
    const { name, signal, observe } = this.#options;
    const spaces = [...this.#places.spaces.values()];
    const { exnode, sha256 } = await stripedExnode({
      ...{ name, size: this.#source.state.bytes, stripe: this.#stripe, signal },
      digests: this.#digests as StripeDigests,
      encrypted: this.#encrypted,
      allocated: (depot) => this.#places.spaces.get(depot)?.allocated,
    });
    const used = spaces.map(({ access }) => access);
    const depots = used.length > 0 ? used : this.#options.depots;
    const documents = await storeDocuments(exnode, { ...this.#options, depots });
    const ends = [
      ...documents.map(({ expires = 0 }) => expires),
      ...spaces.map(({ allocated }) => Date.parse(allocated.expires)),
    ];
    const lost = [...this.#lost.values()];
    const { history } = this.#options;
    for (const { access } of spaces) history.kept(access.edge);
    for (const { edge, error } of lost) history.suspect(edge, error);
    history.confirm();
    for (const { edge, error } of lost) {
      observe.lacking(edge, error, this.#options.parity - lost.length);
    }
    return {
      exnode: { ...exnode, documents },
      ...{ name, sha256, bodyKey: this.#encrypted?.bodyKey },
      ...(await fileLinks(exnode, documents, signal)),
      wholes: [],
      expires: Math.min(...ends),
      forget: async () => {
        for (const space of spaces) await space.forget();
        await Promise.all(lost.map(({ space }) => space && released(space)));
        await this.#encrypted?.forget();
      },
    };
  }

  async unlock(): Promise<void> {
    const lost = [...this.#lost.values()].flatMap(({ space }) => space ?? []);
    for (const space of [...this.#places.spaces.values(), ...lost]) await space.unlock();
  }

  /** Stores all streams, in as many passes as it takes, and gives depots up. */
  async #store(): Promise<void> {
    for (;;) {
      this.#retry = this.#newRetry();
      try {
        await this.#retry.run(() => this.#pass());
        await this.#compare();
        if (this.#failures.size === 0) return;
      } catch (error) {
        if (this.#options.signal.aborted || this.#failures.size === 0) throw error;
      }
      await this.#giveUpFailed();
    }
  }

  /** Sends what depots lack. @throws MillraceError a failure of a depot, which may pass */
  async #pass(): Promise<void> {
    const { now, signal } = this.#options;
    const { file: path, state: fileState } = this.#source;
    this.#failures.clear();
    const spaces = [...this.#places.spaces].filter(([, space]) => space.sha256 === undefined);
    let digests: StripeDigests | undefined;
    try {
      digests = await stripePass({
        ...{ path, fileState, stripe: this.#stripe, now, signal },
        given: givenOf(this.#source, this.#encrypted),
        spaces: new Map(spaces),
        digests: this.#digests === undefined,
        limit: this.#options.limit,
        patienceMs: this.#patienceMs,
        observe: {
          looked: () => this.#begin(),
          sent: (space, end) => {
            this.#sent.set(space, end);
            if (this.#hasBegun) this.#options.observe.sent(this.#sentBytes());
          },
          progress: () => this.#retry.onProgress(),
          failed: (depot, error) => {
            this.#failures.set(depot, error);
            return this.#isHopeless;
          },
        },
      });
    } catch (error) {
      const isOfDepot = [...this.#failures.values()].some((failure) => failure === error);
      if (!isOfDepot) this.#failures.clear();
      throw error;
    }
    this.#digests ??= digests;
    const failures = [...this.#failures.values()];
    const failure = failures.find((one) => !mayRetry(one)) ?? failures[0];
    if (failure !== undefined) throw failure;
  }

  /** Compares what depots have stored with what they were sent. */
  async #compare(): Promise<void> {
    for (const [depot, space] of this.#places.spaces) {
      const { edge } = space.access;
      if (space.sha256 === this.#digests?.streams[depot]) continue;
      await space.giveUp(this.#options.signal);
      const detail = `${edge}: its SHA-256 is ${space.sha256}`;
      this.#failures.set(depot, new MillraceError('content-mismatch', detail));
    }
  }

  /** True if so many depots have failed for good that the upload cannot be completed. */
  get #isHopeless(): boolean {
    const failed = [...this.#failures.values()].filter((error) => !mayRetry(error));
    return this.#lost.size + failed.length > this.#places.spare + this.#mayLack;
  }

  /** Places that may stay empty, so that any one depot of the others may still fail. */
  get #mayLack(): number {
    return Math.max(0, this.#options.parity - 1);
  }

  /**
   * Gives up depots that have failed for good, or else those that have failed for so long. What they
   * store is not released before others have it: an upload that fails goes on there.
   *
   * @throws MillraceError `too-few-depots`; of a depot that no other can replace
   */
  async #giveUpFailed(): Promise<void> {
    const all = [...this.#failures];
    const final = all.filter(([, error]) => !mayRetry(error));
    const failed = final.length > 0 ? final : all;
    const [first] = failed as [[number, MillraceError]];
    if (this.#lost.size + failed.length > this.#places.spare + this.#mayLack) throw first[1];
    for (const [depot, error] of failed) {
      const space = this.#places.spaces.get(depot) as StripeSpace;
      this.#places.spaces.delete(depot);
      this.#sent.delete(space);
      const { edge } = space.access;
      this.#lost.set(depot, { edge, error, space });
      if (this.#places.spare === 0) continue;
      if (!(await this.#places.replace(depot))) continue;
      this.#lost.delete(depot);
      this.#options.observe.left(edge, error);
      this.#options.history.suspect(edge, error);
      await released(space);
      await space.unlock();
    }
    this.#failures.clear();
    if (this.#lost.size <= this.#mayLack) return;
    const n = this.#lost.size - this.#mayLack;
    const detail = `${n === 1 ? '1 more is' : `${n} more are`} needed; ${first[1].message}`;
    throw new MillraceError('too-few-depots', detail, { cause: first[1] });
  }

  #begin(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    const depots = [...this.#places.spaces.keys()];
    const bytes = depots.reduce((sum, depot) => sum + this.#stripe.streamBytes(depot), 0);
    this.#options.observe.begun(bytes, this.#sentBytes());
  }

  #sentBytes(): number {
    return [...this.#sent.values()].reduce((sum, one) => sum + one, 0);
  }

  /** Time without progress for which depots are waited for. */
  get #patienceMs(): Millis {
    const { retryMs } = this.#options;
    return this.#places.spare === 0 ? retryMs : Math.min(retryMs, SPARE_MS);
  }

  #newRetry(): Retry {
    const { signal, now, observe } = this.#options;
    const onRetry = observe.retried.bind(observe);
    return new Retry({ retryMs: this.#patienceMs, signal, now, onRetry });
  }
}
