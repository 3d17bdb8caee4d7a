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
import type { ShareHealth, ShareView } from '@millrace/shared/bridge/rpc/share-api';
import { FairTurns } from '@millrace/shared/cdn/admission/fair-turns';
import { safeFileName } from '@millrace/shared/download/request/file-name';
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
import { DepotWork } from './depot-work.ts';
import { keptInvitation, type NewInvitation } from './invitation.ts';
import type { NewShare } from './new-share.ts';
import { keptError, ShareList } from './share-list.ts';

/** Uploads at a time. */
const AT_A_TIME = 2;
const MAX_SHARES = 500;
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

interface Run {
  readonly stop: AbortController;
  readonly ended: Promise<void>;
}

export class Shares {
  readonly #options: SharesOptions;
  /** The files as they are kept and shown. */
  readonly list: ShareList;
  readonly #runs = new Map<string, Run>();
  readonly #work: DepotWork;
  /** Turns of repairs, and checks by file. */
  readonly #repairs = new FairTurns(AT_A_TIME);
  readonly #checks = new Map<string, Promise<ShareHealth>>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: SharesOptions) {
    this.#options = options;
    this.list = new ShareList(options.store, options.now);
    const onDone = (id: string) => {
      // Answers of depots from before are outdated.
      this.#checks.delete(id);
      this.#tick();
    };
    this.#work = new DepotWork({ list: this.list, now: options.now, onDone });
  }

  /** Paths of copies that are being sent. */
  get copies(): ReadonlySet<string> {
    const own = this.list.kept().filter(({ isCopy }) => isCopy);
    return new Set(own.map(({ path }) => path));
  }

  /** Continues what an earlier run has left. */
  start(): void {
    for (const { id, repairs } of this.list.kept()) if (repairs === true) this.#repair(id);
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
    this.#work.ask(id, 'extending', async (signal) => {
      const { extendStored } = await import('./stored-share.ts');
      return extendStored(share, () => this.list.exnode(id), { seconds, now, signal });
    });
    return this.list.viewOf(id);
  }

  /** Asks the depots of a file how its copies do. @throws MillraceError `bad-option`, `wrong-state` */
  check(id: string): Promise<ShareHealth> {
    const share = this.#find(id, 'check');
    const running = this.#checks.get(id);
    if (running !== undefined) return running;
    const check = this.#check(share).finally(() => {
      if (this.#checks.get(id) === check) this.#checks.delete(id);
    });
    this.#checks.set(id, check);
    return check;
  }

  /** Stores copies that are lost at other depots; `view` tells when that is done. */
  repair(id: string): ShareView {
    this.#find(id, 'repair');
    this.list.change(id, { repairs: true, trouble: undefined });
    this.#repair(id);
    return this.list.viewOf(id);
  }

  /** Stops a repair. What it has stored counts, and the next one goes on from there. */
  stopRepair(id: string): ShareView {
    this.#find(id, 'stop');
    this.#endRepair(id);
    return this.list.viewOf(id);
  }

  /** Revokes a file a little later, or at once if that has failed before. An upload ends at once. */
  revoke(id: string): ShareView {
    const { revokeTries } = this.#find(id, 'revoke');
    this.#endRepair(id);
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
    this.#work.chore(
      (async () => {
        await this.#runs.get(id)?.ended;
        await this.#deleteCopy(share);
        const { abandonUpload } = await import('./stored-share.ts');
        await abandonUpload(this.#folder(id), this.#work.signal);
        await rm(this.#folder(id), { recursive: true, force: true });
      })(),
    );
  }

  /** Ends all uploads; they continue at the next start. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    this.#work.abort();
    for (const { stop } of this.#runs.values()) stop.abort(new MillraceError('interrupted'));
    await Promise.allSettled([...this.#runs.values()].map(({ ended }) => ended));
    await this.#work.ended();
  }

  /** Starts uploads whose turn has come, and revocations that are due. */
  #tick(): void {
    if (this.#work.signal.aborted) return;
    clearTimeout(this.#timer);
    const now = this.#options.now();
    for (const share of this.list.kept()) {
      const { id, revokeAt } = share;
      if (revokeAt !== undefined && revokeAt <= now && this.#work.of(id) === undefined)
        this.#revokeNow(id);
    }
    const idle = this.list.kept().filter(({ id }) => this.#work.of(id) === undefined);
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
      this.#work.ask(id, 'revoking', async (signal) => {
        const { revokeStored } = await import('./stored-share.ts');
        return revokeStored(share, () => this.list.exnode(id), signal);
      });
      return;
    }
    this.#work.run(id, 'revoking', async () => {
      await this.#runs.get(id)?.ended;
      const { abandonUpload } = await import('./stored-share.ts');
      const error = await abandonUpload(this.#folder(id), this.#work.signal);
      if (this.#work.signal.aborted) return;
      const state = error === undefined ? 'revoked' : 'failed';
      const next =
        error === undefined ? NOT_REVOKED : afterFailedRevocation(share, this.#options.now());
      this.list.change(id, { state, ...next, trouble: error && keptError(error) });
      if (error === undefined) await this.#deleteCopy(share);
    });
  }

  async #check(share: KeptShare): Promise<ShareHealth> {
    const { checkStored } = await import('./share-health.ts');
    const { signal } = this.#work;
    const health = await checkStored({ ...this.#options, list: this.list, share, signal });
    const isOutdated = this.list.get(share.id)?.trouble?.code === 'copies-lost';
    if (isOutdated && health.missingBytes === 0) this.list.change(share.id, { trouble: undefined });
    return health;
  }

  #repair(id: string): void {
    this.#work.ask(id, 'repairing', async (signal) => {
      const { repairStored } = await import('./share-repair.ts');
      const end = await this.#repairs.take('', '', signal);
      try {
        return await repairStored({ ...this.#options, list: this.list, id, signal });
      } finally {
        end();
      }
    });
  }

  /** Ends a repair, also for the next start. */
  #endRepair(id: string): void {
    if (this.list.get(id)?.repairs !== true) return;
    this.list.change(id, { repairs: undefined, trouble: undefined });
    this.#work.stop(id);
  }

  /** @throws MillraceError `bad-option`, `wrong-state` */
  #find(id: string, action: ShareAction): KeptShare {
    const share = this.list.get(id);
    if (share === undefined) throw new MillraceError('bad-option', { code: 'no-such-share' });
    if (allows(share, action, this.#options.now(), this.#work.of(id))) return share;
    throw new MillraceError('wrong-state', share.name);
  }

  async #deleteCopy({ isCopy, path }: KeptShare): Promise<void> {
    if (isCopy) await rm(path, { force: true });
  }

  #folder(id: string): string {
    return join(this.#options.state, 'shares', id);
  }
}
