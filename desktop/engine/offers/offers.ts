/**
 * Handles downloads that a browser offers. The browser continues its own download until we have
 * proven that we get the same file, and ends it once the download has been recorded here. An offer
 * that is not committed leaves nothing.
 */

import type { Millis } from '@millrace/shared/base/clock';
import { asMillraceError, MillraceError } from '@millrace/shared/base/errors';
import type { NativeOffer, NativeOfferState } from '@millrace/shared/bridge/native/native-api';
import { usableEdges } from '@millrace/shared/download/request/edge-use';
import { safeFileName } from '@millrace/shared/download/request/file-name';
import type { OfferedFile } from '@millrace/shared/download/request/offered-file';
import type { DownloadRequest } from '@millrace/shared/download/request/request';
import type { NewDownload } from '../downloads/download-schema.ts';
import type { Manager } from '../downloads/manager.ts';
import type { RenewalPlan } from '../downloads/renewals.ts';
import type { DownloadRecord } from '../store/record.ts';
import { type BrowserPlaces, type Place, pathOf } from './browser-place.ts';
import type { HeldNames } from './held-names.ts';

/** Number of offers that may be open at a time. */
export const MAX_OFFERS = 64;
/** Time for which a proven offer waits to be committed, in milliseconds. */
export const OFFER_KEPT_MS = 60_000;
/** Time limit for a proof, in milliseconds: the browser waits no longer. */
export const PROOF_TIMEOUT_MS = 10_000;
/**
 * Time limit for the comparison with earlier downloads, in milliseconds: without it, the file
 * becomes a second download.
 */
const COMPARISON_MS = 4000;
/** Time for which a committed hand-off is remembered, in milliseconds. */
const HAND_OFF_KEPT_MS = 24 * 3600_000;

export interface OffersOptions {
  readonly manager: Manager;
  readonly places: Pick<BrowserPlaces, 'of'>;
  readonly names: Pick<HeldNames, 'while'>;
  /** Rejects if the request does not bring the file. */
  readonly prove: (
    request: DownloadRequest,
    offered: OfferedFile,
    signal: AbortSignal,
  ) => Promise<void>;
  /** Unix milliseconds. */
  readonly now: () => Millis;
  /** Monotonic milliseconds. */
  readonly clock: () => Millis;
}

/** Result of proving an offer. */
interface Proven {
  readonly download: NewDownload;
  /** The browser's place for the download; undefined: it must not go there. */
  readonly place: Place | undefined;
  /** The earlier download that it continues, or why it does not. */
  readonly plan: RenewalPlan | undefined;
  /** True: without an earlier download that continues, nothing is added. */
  readonly onlyRenews: boolean;
}

interface Offer {
  /** The offer as text, to tell a repeated offer from another one of the same name. */
  readonly text: string;
  readonly proof: Promise<void>;
  readonly abort: AbortController;
  /** Defined once the offer is proven. */
  proven: (Proven & { readonly at: Millis }) | undefined;
}

export class Offers {
  readonly #options: OffersOptions;
  readonly #offers = new Map<string, Offer>();

  constructor(options: OffersOptions) {
    this.#options = options;
  }

  /**
   * Resolves when the offer is proven; it then stays open for a minute. The same offer made twice
   * counts once.
   *
   * @throws MillraceError: the offer leaves nothing; `queue-full` if there are too many
   */
  offer(asked: NativeOffer): Promise<void> {
    const { handOff } = asked;
    this.#forgetOld();
    if (this.#committed(handOff) !== undefined) return Promise.resolve();
    const text = JSON.stringify(asked);
    const present = this.#offers.get(handOff);
    if (present !== undefined) {
      if (present.text === text) return present.proof;
      throw new MillraceError('bad-option', 'handOff: another offer has that name');
    }
    if (this.#offers.size >= MAX_OFFERS) {
      throw new MillraceError('queue-full', `${MAX_OFFERS} offers of browsers`);
    }
    const abort = new AbortController();
    const proof = this.#prove(asked, abort).then(
      (proven) => {
        offer.proven = { ...proven, at: this.#options.clock() };
      },
      (error) => {
        // After a withdrawal and a new offer, the entry belongs to the new one.
        if (this.#offers.get(handOff) === offer) this.#offers.delete(handOff);
        throw error;
      },
    );
    const offer: Offer = { text, abort, proof, proven: undefined };
    this.#offers.set(handOff, offer);
    return offer.proof;
  }

  /**
   * Turns a proven offer into a download, which has been recorded when this returns. For a day,
   * even after a restart, a repeated call returns the same download.
   *
   * @returns the download's gid
   * @throws MillraceError `no-such-download` for an unknown or expired offer, `wrong-state` for one
   *   that is still being proven, `disk-full`, `queue-full`
   */
  commit(handOff: string): string {
    this.#forgetOld();
    const committed = this.#committed(handOff);
    if (committed !== undefined) return committed;
    const offer = this.#offers.get(handOff);
    if (offer === undefined) throw new MillraceError('no-such-download', { code: 'no-such-offer' });
    if (offer.proven === undefined) throw new MillraceError('wrong-state', { code: 'not-proven' });
    const { download, plan, onlyRenews } = offer.proven;
    const add = () => {
      // The earlier download is gone, or runs.
      if (onlyRenews) throw notEarlier();
      return this.#add(handOff, offer.proven as Proven);
    };
    const { gid } = this.#options.manager.renewals.carryOut(download, plan, add).record;
    this.#offers.delete(handOff);
    return gid;
  }

  /**
   * Removes an offer, and the unfinished download that it may have become. A download that was there
   * before only stops.
   */
  async withdraw(handOff: string): Promise<void> {
    const { manager } = this.#options;
    this.#offers.get(handOff)?.abort.abort(new MillraceError('interrupted', 'withdrawn'));
    this.#offers.delete(handOff);
    const gid = this.#committed(handOff);
    if (gid === undefined) return;
    const { state, options } = manager.get(gid);
    if (state === 'complete') return;
    if (options.renewedAt !== undefined) {
      manager.line.pause(gid);
      return;
    }
    const how = { deletePartial: true, deleteFile: false, forget: true, now: true };
    await manager.remover.remove({ gids: [gid], ...how });
  }

  state(handOff: string): NativeOfferState {
    this.#forgetOld();
    const gid = this.#committed(handOff);
    if (gid !== undefined) return { state: 'committed', gid };
    const offer = this.#offers.get(handOff);
    if (offer === undefined) return { state: 'unknown' };
    return { state: offer.proven === undefined ? 'proving' : 'proven' };
  }

  close(): void {
    for (const { abort } of this.#offers.values()) abort.abort(new MillraceError('interrupted'));
    this.#offers.clear();
  }

  /**
   * Adds the download at the browser's place. The browser keeps that name from its other downloads
   * until it has ended this one: from then on the name is held here.
   */
  #add(handOff: string, { download, place }: Proven): DownloadRecord {
    const { manager, names } = this.#options;
    if (place === undefined) return manager.add(download);
    const elsewhere = manager.draft(download).request.dir;
    const there = { ...download, ...place, held: handOff, elsewhere };
    const added = names.while(pathOf(place), handOff, () => manager.add(there));
    return added ?? manager.add(download);
  }

  /** Proves an offer. @returns the download that brings the file, and its place */
  async #prove(asked: NativeOffer, abort: AbortController): Promise<Proven> {
    const { manager, places, prove } = this.#options;
    const { signal } = abort;
    const timer = setTimeout(
      () => abort.abort(new MillraceError('origin-timeout', { code: 'offer-late' })),
      PROOF_TIMEOUT_MS,
    );
    let failure: unknown;
    try {
      for (const download of waysOf(asked)) {
        try {
          if (asked.onlyRenews === true && !manager.renewals.mayRenew(download)) throw notEarlier();
          // The draft has the defaults of all downloads, such as a proxy.
          await prove(manager.draft(download).request, asked, signal);
          const place = await places.of(download, asked.path);
          signal.throwIfAborted();
          const plan = await manager.renewals.plan(
            download,
            signal,
            AbortSignal.timeout(COMPARISON_MS),
          );
          if (asked.onlyRenews === true && plan?.kind !== 'renews') throw notEarlier();
          return { download, place, plan, onlyRenews: asked.onlyRenews === true };
        } catch (error) {
          signal.throwIfAborted();
          failure = error;
        }
      }
    } finally {
      clearTimeout(timer);
    }
    throw asMillraceError(failure);
  }

  #committed(handOff: string): string | undefined {
    const { manager, now } = this.#options;
    return manager.store.withHandOff(handOff, now() - HAND_OFF_KEPT_MS);
  }

  #forgetOld(): void {
    const before = this.#options.clock() - OFFER_KEPT_MS;
    for (const [handOff, { proven }] of this.#offers) {
      if (proven !== undefined && proven.at < before) this.#offers.delete(handOff);
    }
  }
}

function notEarlier(): MillraceError {
  return new MillraceError('no-such-download', { code: 'continues-nothing' });
}

/**
 * Returns the downloads that could bring an offered file, the best first. Edges carry nothing about
 * the user: they are used if the origin gives the file to everybody.
 */
function waysOf(asked: NativeOffer): readonly NewDownload[] {
  const { handOff, url, finalUrl, fileName, length, headers } = asked;
  const direct: NewDownload = {
    urls: [url],
    file: safeFileName(fileName),
    rename: true,
    length,
    headers: { ...headers },
    handOff,
  };
  const offered = asked.edges.map((edge) => ({ url: edge }));
  const edges = usableEdges([{ url, headers }, { url: finalUrl }], offered);
  if (edges.length === 0) return [direct];
  const agent = Object.entries(headers).filter(([name]) => name.toLowerCase() === 'user-agent');
  const plain = { ...direct, edges, headers: Object.fromEntries(agent) };
  return [plain, direct];
}
