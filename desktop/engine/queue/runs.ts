/** Starts and stops runs, and tells an old run from the new one when a download is restarted. */

import { dirname, join } from 'node:path';
import type { Millis, Random } from '@millrace/shared/base/clock';
import { asMillraceError, type MillraceError } from '@millrace/shared/base/errors';
import type { DownloadRequest } from '@millrace/shared/download/request/request';
import type { House } from '../edges/house-edges.ts';
import { RttMemory } from '../edges/rtt-memory.ts';
import { fileError } from '../files/file-error.ts';
import { makeFolderOf } from '../files/folder-within.ts';
import type {
  DownloadFactory,
  HostLimits,
  Judged,
  Left,
  Run,
  RunEvent,
  RunProgress,
  RunResult,
  Verdict,
} from './contract.ts';
import type { SharedRate } from './shared-rate.ts';

export type Outcome =
  | {
      readonly kind: 'complete';
      readonly result: RunResult;
      readonly activeMs: Millis;
      readonly verdict?: Verdict | undefined;
    }
  | {
      readonly kind: 'failed';
      readonly error: MillraceError;
      readonly progress?: RunProgress;
      readonly activeMs: Millis;
    };

export interface RunnerOptions {
  readonly createDownload: DownloadFactory;
  readonly rate: SharedRate;
  readonly hostLimits: HostLimits;
  readonly random: Random;
  /** Returns the edges on the local network; undefined: they are not used. */
  readonly house?: (() => House | undefined) | undefined;
  /** Returns the request of a run whose links have to be found anew; undefined: the links are good. */
  readonly renew?: Renew | undefined;
  /** Judges a complete file before its completion is recorded; the signal ends long waits. */
  readonly judge?:
    | ((gid: string, result: RunResult, signal: AbortSignal) => Promise<Judged>)
    | undefined;
  /** Unix milliseconds. */
  readonly now: () => Millis;
  readonly onEvent: (gid: string, event: RunEvent) => void;
  /** Progress at the end of a run that was not stopped. */
  readonly onStand: (gid: string, progress: RunProgress) => void;
  /**
   * Not called for stopped runs, unless they completed before the stop. Returns true if the outcome
   * is recorded or need not be.
   */
  readonly onEnded: (gid: string, outcome: Outcome) => boolean;
}

/**
 * Finds the links of a download anew before its run.
 *
 * @returns undefined if they need not be found
 * @throws MillraceError with which the run fails
 */
type Renew = (gid: string, signal: AbortSignal) => Promise<DownloadRequest | undefined>;

/** Milliseconds without any request under way after which a download makes room for others. */
const YIELDS_AFTER_MS = 3000;

interface Running {
  /** Unix milliseconds; undefined until the run begins. */
  since: Millis | undefined;
  readonly controller: AbortController;
  run: Run | undefined;
  /** Resolves once there is a run, or it is certain that there will be none. */
  readonly begun: PromiseWithResolvers<void>;
  /** Future result of the run; undefined until the run begins. */
  result: Promise<RunResult> | undefined;
  /** Result of the run, set once the file is complete. */
  complete: RunResult | undefined;
  ended: Promise<void>;
}

export class Runs {
  readonly #options: RunnerOptions;
  readonly #running = new Map<string, Running>();
  readonly #edges: RttMemory;
  /** Runs that have ended and still hold their file, by download. */
  readonly #settling = new Map<string, Promise<void>>();

  constructor(options: RunnerOptions) {
    this.#options = options;
    this.#edges = new RttMemory(options.now);
  }

  /** Returns the run of a download; undefined while the download does not run. */
  get(gid: string): Run | undefined {
    const running = this.#running.get(gid);
    return running?.controller.signal.aborted === false ? running.run : undefined;
  }

  /** Returns the milliseconds that the current run has taken so far. */
  activeMs(gid: string): Millis {
    const running = this.#running.get(gid);
    return running?.controller.signal.aborted === false ? this.#activeMs(running) : 0;
  }

  #activeMs({ since }: Running): Millis {
    return since === undefined ? 0 : Math.max(0, this.#options.now() - since);
  }

  /** Resolves when the run of a download that was just started is available, or has ended. */
  async begun(gid: string): Promise<void> {
    await this.#running.get(gid)?.begun.promise;
  }

  /** Resolves when an ended run has released its file. */
  async settled(gid: string): Promise<void> {
    await this.#settling.get(gid);
  }

  /** Returns the future result of the current run. */
  finished(gid: string): Promise<RunResult> | undefined {
    return this.get(gid) === undefined ? undefined : this.#running.get(gid)?.result;
  }

  /**
   * Starts a download, after the end of an earlier run that is being stopped.
   *
   * @param from path of the partial file, if the request now names another path
   */
  start(gid: string, request: DownloadRequest, from?: string): void {
    const before = this.#running.get(gid);
    const running = notBegun();
    this.#running.set(gid, running);
    running.ended = this.#go(gid, { request, from }, running, before);
  }

  /** Stops a download and keeps its bytes. */
  async stop(gid: string): Promise<Left> {
    const running = this.#running.get(gid);
    running?.controller.abort(new Error('stopped'));
    await running?.ended;
    return leftBy(running);
  }

  /**
   * Stops a download, and runs `work` before the download can start again.
   *
   * @param work gets the remains of the download at its end
   */
  async stopAnd(gid: string, work: (left: Left) => Promise<void>): Promise<void> {
    const before = this.#running.get(gid);
    before?.controller.abort(new Error('stopped'));
    const running = notBegun();
    running.controller.abort(new Error('stopped'));
    running.begun.resolve();
    const go = async () => {
      await before?.ended;
      await work(leftBy(before));
    };
    const done = go();
    running.ended = done
      .catch(() => {})
      .finally(() => {
        if (this.#running.get(gid) === running) this.#running.delete(gid);
      });
    this.#running.set(gid, running);
    await done;
  }

  async stopAll(): Promise<void> {
    await Promise.all([...this.#running.keys()].map((gid) => this.stop(gid)));
  }

  async #go(
    gid: string,
    { request, from }: { request: DownloadRequest; from: string | undefined },
    running: Running,
    before: Running | undefined,
  ): Promise<void> {
    const { createDownload, rate, hostLimits, random, onEvent, onStand, onEnded } = this.#options;
    const { signal } = running.controller;
    await before?.ended;
    // A file that is fetched again may still be held by the run that has completed it.
    await this.settled(gid);
    // The earlier run completed its file instead of stopping, so nothing is left to continue.
    running.complete = before?.complete;
    if (running.complete !== undefined) return this.#leave(gid, running);
    let outcome: Outcome | undefined;
    let judged: Judged | undefined;
    try {
      signal.throwIfAborted();
      const path = join(request.dir, request.file ?? 'x');
      await makeFolderOf(path, request.within).catch((error) => {
        throw fileError(error, dirname(path));
      });
      if (from !== undefined) await createDownload.movePartial(from, path);
      signal.throwIfAborted();
      const renewed = await this.#options.renew?.(gid, signal);
      signal.throwIfAborted();
      running.run = await createDownload(renewed ?? request, {
        signal,
        random,
        hostLimits,
        edges: this.#edges,
        house: this.#options.house?.(),
        yieldsAfterMs: YIELDS_AFTER_MS,
        settles: true,
        rateLimits: [rate.limitFor(gid)],
        onEvent: (event) => {
          if (!signal.aborted) onEvent(gid, event);
        },
      });
      // `described` may reject while nobody waits for it.
      running.run.described.catch(() => {});
      running.since = this.#options.now();
      running.result = running.run.run();
      running.begun.resolve();
      running.complete = await running.result;
      const activeMs = this.#activeMs(running);
      judged = await this.#options.judge?.(gid, running.complete, signal);
      const verdict = judged?.verdict;
      outcome = { kind: 'complete', result: running.complete, activeMs, verdict };
    } catch (thrown) {
      const progress = running.run?.progress();
      if (!signal.aborted) {
        outcome = {
          kind: 'failed',
          error: asMillraceError(thrown),
          activeMs: this.#activeMs(running),
          ...(progress === undefined ? {} : { progress }),
        };
      }
    }
    this.#leave(gid, running);
    if (outcome === undefined) return;
    const progress = running.run?.progress();
    if (progress !== undefined) onStand(gid, progress);
    const settled = Promise.withResolvers<void>();
    this.#settling.set(gid, settled.promise);
    try {
      const written = onEnded(gid, outcome);
      judged?.release();
      // If the journal stays, the next start finds it.
      await running.run?.settle(written).catch(() => {});
    } finally {
      judged?.release();
      if (this.#settling.get(gid) === settled.promise) this.#settling.delete(gid);
      settled.resolve();
    }
  }

  #leave(gid: string, running: Running): void {
    running.begun.resolve();
    this.#options.rate.leave(gid);
    if (this.#running.get(gid) === running) this.#running.delete(gid);
  }
}

function notBegun(): Running {
  return {
    since: undefined,
    controller: new AbortController(),
    run: undefined,
    begun: Promise.withResolvers(),
    result: undefined,
    complete: undefined,
    ended: Promise.resolve(),
  };
}

function leftBy(running: Running | undefined): Left {
  const complete = running?.complete;
  return { path: complete?.path ?? running?.run?.progress().path, complete };
}
