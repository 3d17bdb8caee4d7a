/** The list of files that the user has sent: kept in the database, and shown. */

import { createHash } from 'node:crypto';
import type { Millis } from '@millrace/shared/base/clock';
import type { MillraceError } from '@millrace/shared/base/errors';
import type { ShareView } from '@millrace/shared/bridge/rpc/share-api';
import type { Exnode } from '@millrace/shared/exnode/exnode';
import { formatExnode, parseExnode } from '@millrace/shared/exnode/exnode-text';
import { afterRestart } from '@millrace/shared/share/share-state';
import type { KeptShare, ShareStore } from '../store/share-store.ts';
import { type ShareProgress, shareViewOf } from './share-view.ts';

const NOTHING: ShareProgress = { sentBytes: 0 };

export class ShareList {
  readonly #store: ShareStore;
  readonly #now: () => Millis;
  readonly #shares = new Map<string, KeptShare>();
  readonly #progress = new Map<string, ShareProgress>();
  readonly #listeners = new Set<(id: string) => void>();

  /** @param now Unix milliseconds */
  constructor(store: ShareStore, now: () => Millis) {
    this.#store = store;
    this.#now = now;
    for (const share of store.all()) {
      this.#shares.set(share.id, { ...share, state: afterRestart(share.state) });
    }
  }

  /** Adds a listener, which is called with the ids of files that have changed or are gone. */
  listen(listener: (id: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** True while files are sent, repaired, or wait for their turn. */
  get busy(): boolean {
    return this.kept().some(
      ({ state, repairs }) => state === 'waiting' || state === 'sending' || repairs === true,
    );
  }

  /** Returns true if the user has paused or revoked a file, or taken it out of the list. */
  endedByHand(id: string): boolean {
    const state = this.get(id)?.state;
    return state === undefined || state === 'paused' || state === 'revoked';
  }

  /** Returns all files, newest first, as they are shown. */
  all(): ShareView[] {
    return [...this.#shares.keys()].reverse().map((id) => this.viewOf(id));
  }

  /** Returns all files as they are kept. */
  kept(): KeptShare[] {
    return [...this.#shares.values()];
  }

  get(id: string): KeptShare | undefined {
    return this.#shares.get(id);
  }

  view(id: string): ShareView | undefined {
    return this.#shares.has(id) ? this.viewOf(id) : undefined;
  }

  /** @param id of a file that is in the list */
  viewOf(id: string): ShareView {
    return shareViewOf(this.#shares.get(id) as KeptShare, this.progress(id), this.#now());
  }

  progress(id: string): ShareProgress {
    return this.#progress.get(id) ?? NOTHING;
  }

  setProgress(id: string, change: Partial<ShareProgress>): void {
    if (!this.#shares.has(id)) return;
    this.#progress.set(id, { ...this.progress(id), ...change });
    this.#tell(id);
  }

  /** Changes a file if it is in the list. @throws MillraceError `disk-full`, `state-unusable` */
  change(id: string, change: Partial<KeptShare>): void {
    const share = this.#shares.get(id);
    if (share !== undefined) this.keep({ ...share, ...change });
  }

  /** @throws as `change` */
  keep(share: KeptShare): void {
    this.#store.put(share);
    this.#shares.set(share.id, share);
    this.#tell(share.id);
  }

  /** Keeps a file with its exNode; undefined: it has none any more. @throws as `change` */
  keepExnode(share: KeptShare, exnode: Exnode | undefined): void {
    this.#store.putExnode(share, exnode && formatExnode(exnode, false));
    this.#shares.set(share.id, share);
    this.#tell(share.id);
  }

  /** @throws MillraceError `bad-exnode` */
  exnode(id: string): Exnode {
    return parseExnode(this.#store.exnode(id) ?? '', (bytes) =>
      createHash('sha256').update(bytes).digest('hex'),
    );
  }

  /** @throws as `change` */
  delete(id: string): void {
    this.#store.delete(id);
    this.#shares.delete(id);
    this.#progress.delete(id);
    this.#tell(id);
  }

  #tell(id: string): void {
    for (const listener of this.#listeners) listener(id);
  }
}

/** Returns an error as it is kept. */
export function keptError({ code, detail }: MillraceError): { code: string; detail: string } {
  return { code, detail };
}
