/**
 * Checks pieces of torrents that several files have in common. A piece is checked when the last of its
 * files has arrived, before that file counts as complete; the others are complete by then, with bytes that
 * are not proven. The parts of a wrong piece are fetched again; if that does not help, none of its files
 * counts as right.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Millis } from '@millrace/shared/base/clock';
import { WaitingLine, waitInLine } from '@millrace/shared/base/waiting-line';
import type { SharedPiece } from '@millrace/shared/download/metalink/description';
import {
  afterWrong,
  coverOf,
  type Holder,
  type Stretch,
} from '@millrace/shared/download/torrent/shared-pieces';
import type { Judged, RunResult, Verdict } from '../queue/contract.ts';
import { completedBy, type Records, targetOf } from '../queue/records.ts';
import { type DownloadRecord, isFinished } from '../store/record.ts';
import { digestOfPiece } from './read-shared-piece.ts';
import { SharedPieceRecords } from './shared-piece-records.ts';

export interface SharedPieceCheckOptions {
  readonly records: Records;
  /** Resolves when the run of a complete download has released its file. */
  readonly settled: (gid: string) => Promise<void>;
  /** Waits for actions on files to end; see `AfterRunner.rest`. */
  readonly rest: (gids: readonly string[]) => Promise<() => void>;
  /** Starts what is in the queue. */
  readonly tick: () => void;
  /** Unix milliseconds. */
  readonly now: () => Millis;
}

/** Most files that share a piece; a piece of more files stays unchecked. */
const MOST_HOLDERS = 1024;

/** The finding about one shared piece of a file. */
type Finding =
  | { readonly kind: 'waits'; readonly part: SharedPiece }
  | { readonly kind: 'unchecked' | 'right'; readonly key: string; readonly gids: readonly string[] }
  | { readonly kind: 'wrong'; readonly key: string; readonly holders: readonly Holder[] };

const NOT_JUDGED: Judged = { verdict: undefined, release: () => {} };

export class SharedPieceCheck {
  readonly #options: SharedPieceCheckOptions;
  readonly #records: SharedPieceRecords;
  readonly #ending = new AbortController();
  /** Checks run one at a time, because each may reopen the files of the next one. */
  readonly #line = new WaitingLine<() => void>();
  #isBusy = false;
  readonly #pending = new Map<string, Promise<void>>();

  constructor(options: SharedPieceCheckOptions) {
    this.#options = options;
    this.#records = new SharedPieceRecords(options.records, options.now);
    options.records.listen(({ kind, ...event }) => {
      if (kind !== 'completed' && kind !== 'failed' && kind !== 'stopped') return;
      if ('gid' in event) this.#take(event.gid);
    });
  }

  /** Continues with the complete files of whose pieces the last daemon has not found out everything. */
  start(): void {
    for (const gid of this.#options.records.store.sharedOpen()) this.#take(gid);
  }

  /** Ends the check under way; the next start begins it again. */
  async close(): Promise<void> {
    this.#ending.abort();
    await Promise.all(this.#pending.values());
  }

  /**
   * Checks the pieces of a file that has just become complete, as far as all their files are there.
   *
   * @param signal ends waits: the pieces are then checked after the completion
   */
  async judge(gid: string, result: RunResult, signal: AbortSignal): Promise<Judged> {
    const record = this.#options.records.find(gid);
    if ((record?.options.shared ?? []).length === 0) return NOT_JUDGED;
    const own: DownloadRecord = {
      ...{ ...(record as DownloadRecord), ...completedBy(record as DownloadRecord, result) },
      ...{ state: 'complete', finishedAt: this.#options.now() },
    };
    return this.#judge(own, signal, true).catch(() => NOT_JUDGED);
  }

  /** Looks at a download that has ended, in the background. */
  #take(gid: string): void {
    const { records } = this.#options;
    const isOpen = records.exists(gid) && (records.get(gid).options.shared ?? []).length > 0;
    if (!isOpen || this.#pending.has(gid) || this.#ending.signal.aborted) return;
    const work = this.#check(gid)
      // The daemon ends, or the download was removed.
      .catch(() => {})
      .finally(() => this.#pending.delete(gid));
    this.#pending.set(gid, work);
  }

  async #check(gid: string): Promise<void> {
    await nextTurn();
    await this.#options.settled(gid);
    const { records } = this.#options;
    const record = records.exists(gid) ? records.get(gid) : undefined;
    if (record === undefined || !isFinished(record.state)) return;
    const { verdict, release } = await this.#judge(record, this.#ending.signal, false);
    try {
      verdict?.record(record);
    } finally {
      release();
    }
    this.#options.tick();
  }

  /**
   * @param isNew the completion is not recorded yet
   * @throws the signal's reason
   */
  async #judge(own: DownloadRecord, signal: AbortSignal, isNew: boolean): Promise<Judged> {
    const ends = AbortSignal.any([signal, this.#ending.signal]);
    const next = await this.#turn(ends);
    try {
      const found: Finding[] = [];
      for (const piece of own.options.shared ?? []) found.push(await this.#look(piece, own));
      const others = found
        .flatMap((one) => (one.kind === 'wrong' ? one.holders : []))
        .flatMap(({ gid }) => (gid === own.gid ? [] : [gid]));
      const go = await this.#rest([...new Set(others)], ends);
      const release = () => {
        go();
        next();
      };
      return { verdict: this.#verdict(own, found, isNew), release: once(release) };
    } catch (error) {
      next();
      throw error;
    }
  }

  /** Waits until no other check runs. @returns a function that lets the next one begin */
  async #turn(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#isBusy) await waitInLine(this.#line, signal);
    this.#isBusy = true;
    return once(() => {
      const next = this.#line.take();
      if (next === undefined) this.#isBusy = false;
      else next();
    });
  }

  /** Waits until no action works on some files. @throws the signal's reason */
  async #rest(gids: readonly string[], signal: AbortSignal): Promise<() => void> {
    if (gids.length === 0) return () => {};
    const resting = this.#options.rest(gids);
    const aborted = new WaitingLine<() => void>();
    try {
      await Promise.race([resting, waitInLine(aborted, signal)]);
    } catch (error) {
      void resting.then((go) => go());
      throw error;
    }
    aborted.take()?.();
    return resting;
  }

  async #look(piece: SharedPiece, own: DownloadRecord): Promise<Finding> {
    const { key, hex } = piece;
    const { records } = this.#options;
    const gids = records.store.withShared(key, MOST_HOLDERS).filter((gid) => gid !== own.gid);
    const isWith = (record: DownloadRecord | undefined) =>
      record?.options.sharedIn === own.options.sharedIn;
    // The records of a piece of many small files are read once all of these have ended.
    if (gids.some((gid) => records.find(gid) !== undefined && isWith(records.find(gid)))) {
      return { kind: 'waits', part: piece };
    }
    const others = gids.flatMap((gid) => (records.exists(gid) ? [records.get(gid)] : []));
    const holders = [own, ...others.filter(isWith)].flatMap((one) => holderOf(one, key) ?? []);
    // Of several downloads of one file, those that are complete count first, then the newest.
    const inOrder = [...holders.slice(0, 1), ...holders.slice(1).sort(completeFirst)];
    const cover = coverOf(inOrder);
    const stretches: readonly Stretch[] = cover.kind === 'whole' ? cover.stretches : [];
    const recordOf = (gid: string) => (gid === own.gid ? own : this.#records.find(gid));
    const digest = cover.kind === 'whole' ? await digestOfPiece(stretches, recordOf) : undefined;
    const parts = stretches.flatMap((one) => ('holder' in one ? [one.holder] : []));
    // Nothing is decided about files that have changed, or are fetched again, meanwhile.
    const isStill = parts.every((one) => recordOf(one.gid) !== undefined);
    if (digest === undefined || !isStill) {
      return { kind: 'unchecked', key, gids: inOrder.map(({ gid }) => gid) };
    }
    if (digest !== hex) return { kind: 'wrong', key, holders: parts };
    return { kind: 'right', key, gids: parts.map(({ gid }) => gid) };
  }

  #verdict(own: DownloadRecord, found: readonly Finding[], isNew: boolean): Verdict {
    const wrong = found.flatMap((one) =>
      one.kind === 'wrong' ? [{ ...one, step: afterWrong(one.holders) }] : [],
    );
    const steps = (kind: 'again' | 'fail') =>
      wrong.flatMap(({ key, step }) =>
        step.kind === kind ? [{ key, holders: step.holders }] : [],
      );
    const isOwn = ({ gid }: Holder) => gid === own.gid;
    const isComplete = ![...steps('again'), ...steps('fail')].some(({ holders }) =>
      holders.some(isOwn),
    );
    const record = (complete: DownloadRecord) => {
      const unrecorded = isNew && !isComplete ? complete : undefined;
      // The same is not said again by a later look.
      this.#say(own, found, isNew && isComplete);
      for (const { key, step, holders } of wrong) {
        if (step.kind !== 'contradicts') continue;
        for (const { gid } of holders) this.#records.say(gid, key, 'contradicts');
      }
      // A file that fails is not fetched again in its other parts.
      const failed = new Set<string>();
      for (const { holders } of steps('fail')) {
        const more = holders.filter(({ gid }) => !failed.has(gid));
        this.#records.fail(more, unrecorded);
        for (const { gid } of more) failed.add(gid);
      }
      const again = steps('again').map(({ key, holders }) => ({
        key,
        holders: holders.filter(({ gid }) => !failed.has(gid)),
      }));
      this.#records.fetchAgain(again, unrecorded);
    };
    return { isComplete, record };
  }

  #say(own: DownloadRecord, found: readonly Finding[], saysWaits: boolean): void {
    const waiting: SharedPiece[] = [];
    for (const one of found) {
      if (one.kind === 'waits') waiting.push(one.part);
      else if (one.kind !== 'wrong') {
        for (const gid of one.gids) this.#records.say(gid, one.key, one.kind);
      }
    }
    if (waiting.length > 0 && saysWaits) this.#records.sayWaits(own.gid, waiting);
  }
}

function holderOf(record: DownloadRecord, key: string): Holder | undefined {
  const { gid, state, options, request, digest, vouch } = record;
  const part = options.shared?.find((one) => one.key === key);
  if (part === undefined) return undefined;
  const isComplete = state === 'complete' && record.path === targetOf(record);
  return {
    ...{ gid, part, sources: request.urls.length },
    state: isComplete ? 'complete' : isFinished(state) ? 'failed' : 'coming',
    isProven: digest !== undefined || vouch !== undefined,
    again: (options.sharedAgain ?? []).filter((one) => one === key).length,
  };
}

const RANKS = ['complete', 'coming', 'failed'] as const;
const completeFirst = (a: Holder, b: Holder): number =>
  RANKS.indexOf(a.state) - RANKS.indexOf(b.state);

/** Returns a function that does its work only the first time. */
function once(work: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) work();
    isDone = true;
  };
}
