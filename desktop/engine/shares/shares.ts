/**
 * The files that the user sends: a few uploads at a time, by the engine of `millrace upload`. Every
 * change is kept before anybody is told, so that uploads, revocations and links survive the end of
 * the daemon.
 */

import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Millis } from '@millrace/shared/base/clock';
import { asMillraceError, MillraceError } from '@millrace/shared/base/errors';
import type { ShareView } from '@millrace/shared/bridge/rpc/share-api';
import { safeFileName } from '@millrace/shared/download/request/file-name';
import type { Exnode } from '@millrace/shared/exnode/exnode';
import type { Health } from '@millrace/shared/exnode/health';
import {
  afterFailedRevocation,
  allows,
  NOT_REVOKED,
  nextRevocation,
  type ShareAction,
  toStart,
  UNDO_REVOKE_MS,
} from '@millrace/shared/share/share-state';
import type { KeptDepot } from '../settings/kept-depots.ts';
import { findDepot } from '../settings/kept-depots.ts';
import type { KeptShare, ShareStore } from '../store/share-store.ts';
import { keptInvitation, type NewInvitation } from './invitation.ts';
import type { NewShare } from './new-share.ts';
import { keptError, ShareList } from './share-list.ts';
import type { Asked } from './stored-share.ts';

/** Uploads at a time. */
const AT_A_TIME = 2;
const MAX_SHARES = 500;
/** Actions that invitations do not take. */
const OF_FILES: ReadonlySet<ShareAction> = new Set(['check', 'repair']);
/** Time without progress after which an upload fails: a network that is away for a while comes back. */
const RETRY_MS: Millis = 3_600_000;

export interface SharesOptions {
  readonly store: ShareStore;
  readonly depots: () => readonly KeptDepot[];
  /** The daemon's folder. */
  readonly state: string;
  /** Unix milliseconds. */
  readonly now: () => Millis;
  /** Monotonic milliseconds. */
  readonly clock: () => Millis;
}

type Changing = NonNullable<ShareView['changing']>;

interface Run {
  readonly stop: AbortController;
  readonly ended: Promise<void>;
}

export class Shares {
  readonly #options: SharesOptions;
  /** The files as they are kept and shown. */
  readonly list: ShareList;
  readonly #runs = new Map<string, Run>();
  readonly #changes = new Set<Promise<void>>();
  readonly #closing = new AbortController();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: SharesOptions) {
    this.#options = options;
    this.list = new ShareList(options.store, options.now);
  }

  /** Paths of copies that are being sent. */
  get copies(): ReadonlySet<string> {
    const own = this.list.kept().filter(({ isCopy }) => isCopy);
    return new Set(own.map(({ path }) => path));
  }

  /** Continues what an earlier run has left. */
  start(): void {
    this.#tick();
  }

  /** Sends a file. @throws MillraceError `bad-option`, `owner-token-required` */
  add({ file, name, seconds, depots: chosen, copies, encrypt }: NewShare): ShareView {
    const all = this.#options.depots();
    const asked = chosen?.map((url) => findDepot(all, url).url) ?? all.map(({ url }) => url);
    const depots = [...new Set(asked)];
    if (depots.length === 0) throw new MillraceError('bad-option', { code: 'no-depot' });
    this.checkRoom();
    const share: KeptShare = {
      id: randomBytes(16).toString('hex'),
      state: 'waiting',
      path: file.path,
      isCopy: file.isCopy,
      name: safeFileName(name ?? file.name),
      ...{ bytes: file.bytes, mtimeMs: file.mtimeMs },
      ...(encrypt === true ? { encrypts: true } : {}),
      ...{ seconds, depots, copies: copies ?? depots.length },
      createdAt: this.#options.now(),
      wholeFile: false,
    };
    this.list.keep(share);
    this.#tick();
    return this.list.viewOf(share.id);
  }

  /** @throws MillraceError `bad-option` if the list is full */
  checkRoom(): void {
    if (this.list.kept().length < MAX_SHARES) return;
    throw new MillraceError('bad-option', { code: 'shares-at-most', values: { most: MAX_SHARES } });
  }

  /** Adds an invitation that a depot has granted, so that its owner can extend and end it here. */
  addInvitation(invitation: NewInvitation): void {
    const id = randomBytes(16).toString('hex');
    this.list.keep(keptInvitation(id, invitation, this.#options.now()));
  }

  pause(id: string): ShareView {
    this.#find(id, 'pause');
    this.list.change(id, { state: 'paused', trouble: undefined });
    this.#runs.get(id)?.stop.abort(new MillraceError('interrupted'));
    return this.list.viewOf(id);
  }

  resume(id: string): ShareView {
    this.#find(id, 'resume');
    this.list.change(id, { state: 'waiting', trouble: undefined });
    this.#tick();
    return this.list.viewOf(id);
  }

  /** Asks the depots to extend all leases; `view` tells when that is done. */
  extend(id: string, seconds: number): ShareView {
    const share = this.#find(id, 'extend');
    const { now } = this.#options;
    this.#ask(id, 'extending', async (signal) => {
      const { extendStored } = await import('./stored-share.ts');
      return extendStored(share, () => this.list.exnode(id), { seconds, now, signal });
    });
    return this.list.viewOf(id);
  }

  /** Asks the depots of a file how its copies do. @throws MillraceError `bad-option`, `wrong-state` */
  async check(id: string): Promise<Health> {
    const share = this.#find(id, 'check');
    const { checkStored } = await import('./share-health.ts');
    const { signal } = this.#closing;
    return checkStored({ ...this.#options, list: this.list, share, signal });
  }

  /** Stores copies that are lost at other depots; `view` tells when that is done. */
  repair(id: string): ShareView {
    const share = this.#find(id, 'repair');
    this.#ask(id, 'repairing', async (signal) => {
      const { repairStored } = await import('./share-health.ts');
      return repairStored({ ...this.#options, list: this.list, share, signal });
    });
    return this.list.viewOf(id);
  }

  /** Revokes a file a little later, or at once if that has failed before. An upload ends at once. */
  revoke(id: string): ShareView {
    const { revokeTries } = this.#find(id, 'revoke');
    const pause = revokeTries === undefined ? UNDO_REVOKE_MS : 0;
    this.list.change(id, { revokeAt: this.#options.now() + pause });
    this.#runs.get(id)?.stop.abort(new MillraceError('interrupted'));
    this.#tick();
    return this.list.viewOf(id);
  }

  undoRevoke(id: string): ShareView {
    this.#find(id, 'undo');
    this.list.change(id, NOT_REVOKED);
    this.#tick();
    return this.list.viewOf(id);
  }

  /** Removes a file from the list. */
  forget(id: string): void {
    const share = this.#find(id, 'forget');
    this.list.delete(id);
    this.#chore(
      (async () => {
        await this.#runs.get(id)?.ended;
        await this.#deleteCopy(share);
        const { abandonUpload } = await import('./stored-share.ts');
        await abandonUpload(this.#folder(id), this.#closing.signal);
        await rm(this.#folder(id), { recursive: true, force: true });
      })(),
    );
  }

  /** Ends all uploads; they continue at the next start. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    this.#closing.abort(new MillraceError('interrupted'));
    for (const { stop } of this.#runs.values()) stop.abort(new MillraceError('interrupted'));
    await Promise.allSettled([...this.#runs.values()].map(({ ended }) => ended));
    await Promise.allSettled(this.#changes);
  }

  /** Starts uploads whose turn has come, and revocations that are due. */
  #tick(): void {
    if (this.#closing.signal.aborted) return;
    clearTimeout(this.#timer);
    const now = this.#options.now();
    for (const share of this.list.kept()) {
      const { id, revokeAt } = share;
      if (revokeAt !== undefined && revokeAt <= now && !this.#isChanging(id)) this.#revokeNow(id);
    }
    const idle = this.list.kept().filter(({ id }) => !this.#isChanging(id));
    const due = nextRevocation(idle);
    if (due !== undefined) this.#timer = setTimeout(() => this.#tick(), Math.max(0, due - now));
    for (const { id } of toStart(this.list.kept(), AT_A_TIME)) {
      if (!this.#runs.has(id)) this.#run(id);
    }
  }

  #run(id: string): void {
    this.list.change(id, { state: 'sending', trouble: undefined });
    const stop = new AbortController();
    const ended = this.#upload(id, stop.signal).then(
      () => this.#runs.delete(id),
      (thrown: unknown) => {
        this.#runs.delete(id);
        this.#onFailure(id, thrown, stop.signal.aborted);
      },
    );
    this.#runs.set(id, { stop, ended: ended.then(() => this.#tick()).catch(() => {}) });
  }

  async #upload(id: string, signal: AbortSignal): Promise<void> {
    const { depots, clock } = this.#options;
    // Loaded with the first upload, so that it does not delay the start of the daemon.
    const { uploadShare } = await import('./share-upload.ts');
    const { KeptHistory } = await import('../upload/spread/kept-history.ts');
    const folder = this.#folder(id);
    const known = depots();
    const history = new KeptHistory(this.#options.state);
    const more = { folder, history, retryMs: RETRY_MS, clock, signal };
    await uploadShare({ id, list: this.list, known, ...more });
    await this.#deleteCopy(this.list.get(id) as KeptShare);
  }

  #onFailure(id: string, thrown: unknown, stopped: boolean): void {
    const share = this.list.get(id);
    // An upload that was stopped is paused, about to be revoked, or continues at the next start.
    if (share === undefined || share.state !== 'sending') return;
    const change: Partial<KeptShare> = stopped
      ? { state: 'waiting', trouble: undefined }
      : { state: 'failed', trouble: keptError(asMillraceError(thrown)) };
    this.list.change(id, change);
  }

  #revokeNow(id: string): void {
    const share = this.list.get(id) as KeptShare;
    if (share.state === 'shared') {
      this.#ask(id, 'revoking', async (signal) => {
        const { revokeStored } = await import('./stored-share.ts');
        return revokeStored(share, () => this.list.exnode(id), signal);
      });
      return;
    }
    this.#chore(
      this.#changing(id, 'revoking', async () => {
        await this.#runs.get(id)?.ended;
        const { abandonUpload } = await import('./stored-share.ts');
        const error = await abandonUpload(this.#folder(id), this.#closing.signal);
        if (this.#closing.signal.aborted) return;
        const state = error === undefined ? 'revoked' : 'failed';
        const next =
          error === undefined ? NOT_REVOKED : afterFailedRevocation(share, this.#options.now());
        this.list.change(id, { state, ...next, trouble: error && keptError(error) });
        if (error === undefined) await this.#deleteCopy(share);
      }),
    );
  }

  /** Asks the depots of a stored file for something in the background, and keeps the outcome. */
  #ask(id: string, changing: Changing, ask: (signal: AbortSignal) => Promise<Asked>): void {
    if (this.#isChanging(id)) throw new MillraceError('wrong-state', { code: 'depots-are-asked' });
    this.#chore(
      this.#changing(id, changing, async () => {
        const { signal } = this.#closing;
        let change: Partial<KeptShare>;
        let exnode: Exnode | undefined;
        try {
          const asked = await ask(signal);
          const { error } = asked;
          exnode = asked.exnode;
          change = { ...asked.change, trouble: error && keptError(error) };
        } catch (error) {
          change = { trouble: keptError(asMillraceError(error)) };
        }
        const share = this.list.get(id);
        // A revocation that the end of the daemon has interrupted is due at the next start.
        if (share === undefined) return;
        const hasFailed = change.trouble !== undefined;
        const next = hasFailed ? afterFailedRevocation(share, this.#options.now()) : NOT_REVOKED;
        const rest = changing === 'revoking' && !signal.aborted ? next : {};
        const after = { ...share, ...(signal.aborted ? {} : change), ...rest };
        if (exnode === undefined) this.list.keep(after);
        else this.list.keepExnode(after, after.state === 'revoked' ? undefined : exnode);
      }),
    );
  }

  async #changing(id: string, changing: Changing, work: () => Promise<void>): Promise<void> {
    this.list.setProgress(id, { changing });
    try {
      await work();
    } finally {
      this.list.setProgress(id, { changing: undefined });
      this.#tick();
    }
  }

  #isChanging(id: string): boolean {
    return this.list.progress(id).changing !== undefined;
  }

  /** @throws MillraceError `bad-option`, `wrong-state` */
  #find(id: string, action: ShareAction): KeptShare {
    const share = this.list.get(id);
    if (share === undefined) throw new MillraceError('bad-option', { code: 'no-such-share' });
    const isAllowed = share.invitation === undefined || !OF_FILES.has(action);
    if (isAllowed && allows(share, action, this.#options.now()) && !this.#isChanging(id)) {
      return share;
    }
    throw new MillraceError('wrong-state', share.name);
  }

  async #deleteCopy({ isCopy, path }: KeptShare): Promise<void> {
    if (isCopy) await rm(path, { force: true });
  }

  #folder(id: string): string {
    return join(this.#options.state, 'shares', id);
  }

  #chore(work: Promise<void>): void {
    const settled = work.catch(() => {});
    this.#changes.add(settled);
    void settled.then(() => this.#changes.delete(settled));
  }
}
