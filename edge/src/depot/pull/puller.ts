/**
 * Pulls: the depot itself fetches the bytes of an upload from URLs, and completes the upload. A pull
 * goes on without the client that has posted it, until it is complete, fails, or another request takes
 * the upload over. The plan decides; this file asks, and stores.
 */

import { createHash } from 'node:crypto';
import type { Millis } from '@millrace/shared/base/clock';
import { asMillraceError, isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import type { Log } from '@millrace/shared/base/log';
import { KeyedPlaces } from '@millrace/shared/cdn/admission/keyed-places';
import { judgePulled, pullFields } from '@millrace/shared/cdn/depot/pull-answer';
import {
  type PullAsk,
  type PulledVersion,
  type PullPart,
  PullPlan,
  pullLength,
} from '@millrace/shared/cdn/depot/pull-plan';
import {
  type PullProspect,
  prospectOfAnswer,
  prospectOfError,
} from '@millrace/shared/cdn/depot/pull-prospect';
import { failedPull, type PullRecord } from '@millrace/shared/cdn/depot/pull-record';
import { listField } from '@millrace/shared/http/fields/headers';
import { parseRetryAfter } from '@millrace/shared/http/fields/retry-after';
import { hideSecrets } from '@millrace/shared/http/urls/depot-link';
import type { HttpResponse } from '@millrace/shared/node/http-response';
import { sleep } from '@millrace/shared/node/sleep';
import type { OnRefusal } from '../../admission/admissions.ts';
import type { OriginUse } from '../../admission/origin-use.ts';
import { OWNER_PULLS, PULLS } from '../../admission/resources.ts';
import type { OriginClient } from '../../egress/origin-client.ts';
import type { Owners } from '../../policy/depot-owners.ts';
import type { OriginPolicy } from '../../policy/policy.ts';
import type { Allocation, Turn } from '../allocation.ts';
import { APPEND_BYTES, append } from '../append.ts';
import type { Depot } from '../depot.ts';
import { cutBack } from './cut-back.ts';
import { PulledBody, QUEUE_BYTES } from './pulled-body.ts';

/** Longest request that posts a pull. */
export const PULL_REQUEST_BYTES = 256 * 1024;
/** Memory that a pull takes at most: what it stores, what has come, and its request. */
export const PULL_MEMORY_BYTES = APPEND_BYTES + QUEUE_BYTES + 2 * PULL_REQUEST_BYTES;

/** A pull that a client asks for. */
export interface PullRequest {
  readonly parts: readonly PullPart[];
  /** SHA-256 that the file must have, hexadecimal. */
  readonly sha256?: string | undefined;
}

export interface PullerOptions {
  readonly depot: Depot;
  readonly owners: Owners;
  readonly client: Pick<OriginClient, 'open'>;
  readonly policy: Pick<OriginPolicy, 'rule' | 'checkAnswer'>;
  readonly originUse: Pick<OriginUse, 'admit'>;
  /** Returns true for files of this network's depots, which the policy need not admit. */
  readonly isInNetwork: (url: URL) => boolean;
  readonly onRefusal: OnRefusal;
  /** Called with the number of bytes that have come. */
  readonly onBytes: (bytes: number) => void;
  readonly log: Log;
  /** Monotonic and Unix milliseconds. */
  readonly now: () => Millis;
  readonly wallClock: () => Millis;
}

/** A failure of a source: another one may do better. */
class SourceFailure extends Error {
  readonly error: MillraceError;
  /** True if its answer had more bytes than it said. */
  readonly isTooLong: boolean;

  constructor(cause: unknown, isTooLong = false) {
    super('a source has failed', { cause });
    this.error = asMillraceError(cause);
    this.isTooLong = isTooLong;
  }
}

/** A pull under way. */
interface Run {
  readonly allocation: Allocation;
  readonly plan: PullPlan;
  readonly sha256: string | undefined;
  readonly turn: Turn;
  readonly client: string;
  /** As the head of the allocation has it. */
  record: PullRecord;
}

export class Puller {
  readonly #options: PullerOptions;
  readonly #places = new KeyedPlaces(OWNER_PULLS, PULLS);

  constructor(options: PullerOptions) {
    this.#options = options;
  }

  /** Pulls under way. */
  get running(): number {
    return this.#places.running;
  }

  /**
   * Begins a pull. It goes on where the upload stands; a request that appends, or another pull, ends.
   *
   * @param client key of the client that has posted it
   * @returns a promise that resolves when the pull has ended, well or not, and left its place
   * @throws MillraceError `too-many-transfers`, `upload-complete`, and those of `Depot.setLength`
   */
  async begin(
    allocation: Allocation,
    request: PullRequest,
    client: string,
  ): Promise<{ readonly ended: Promise<void> }> {
    const { depot, wallClock } = this.#options;
    const leave = this.#enter(allocation.head.owner, client);
    let turn: Turn | undefined;
    try {
      turn = await allocation.takeTurn('pull');
      if (allocation.isComplete) throw new MillraceError('upload-complete');
      const length = pullLength(request.parts);
      await depot.contents.setLength(allocation, length);
      depot.space.makeRoom(allocation, length);
      const plan = planOf(allocation, request);
      const record = { startedAt: wallClock(), seen: plan.seen };
      await depot.contents.notePull(allocation, record);
      const { sha256 } = request;
      return {
        ended: this.#run({ allocation, plan, sha256, turn, client, record }).finally(leave),
      };
    } catch (error) {
      turn?.end();
      leave();
      throw depot.diskError(error);
    }
  }

  /**
   * Asks the server of a URL for the head of its file, as a pull would, which says whether one could be
   * begun. It takes one of the owner's places for that time.
   *
   * @throws MillraceError `too-many-transfers`; the signal's reason
   */
  async prospect(
    { url, owner, client }: { readonly url: URL; readonly owner: string; readonly client: string },
    signal: AbortSignal,
  ): Promise<PullProspect> {
    const { policy, originUse, isInNetwork: admits, now } = this.#options;
    const leave = this.#enter(owner, client);
    let use: ReturnType<OriginUse['admit']> | undefined;
    try {
      use = originUse.admit(url, policy.rule(url), client, now());
      const head = { method: 'HEAD', url, scope: 'public', client, signal, admits } as const;
      const answer = await this.#options.client.open(head);
      answer.discard();
      return prospectOfAnswer(answer.status);
    } catch (error) {
      signal.throwIfAborted();
      return prospectOfError(asMillraceError(error));
    } finally {
      use?.release(now());
      leave();
    }
  }

  /** @throws MillraceError `too-many-transfers` */
  #enter(owner: string, client: string): () => void {
    const leave = this.#places.take(owner);
    if (leave !== undefined) return leave;
    this.#options.onRefusal('pulls', 'refused', client);
    const own = this.#places.of(owner);
    throw new MillraceError('too-many-transfers', `${own} pulls of yours are under way`, {
      retryAfterMs: 1000,
    });
  }

  /** Carries a pull out, gives its turn back, and records how it has ended; never rejects. */
  async #run(run: Run): Promise<void> {
    const { depot, log } = this.#options;
    const { allocation, turn, sha256 } = run;
    const { id, owner } = allocation.head;
    try {
      await this.#fetchAll(run);
      await depot.contents.complete(allocation, turn.signal, sha256);
      log.info({ id, owner, bytes: allocation.offset }, 'a pull is complete');
    } catch (thrown) {
      // Before it is wrapped: a full disk is known by the error of the system.
      const error = turn.signal.aborted ? turn.signal.reason : depot.diskError(thrown);
      await this.#noteFailure(run, asMillraceError(error));
    } finally {
      turn.end();
    }
  }

  /** Fetches all bytes that are missing. @throws as `PullPlan.next`, of the disk, and of `append` */
  async #fetchAll(run: Run): Promise<void> {
    const { now } = this.#options;
    const { allocation, plan, turn } = run;
    for (;;) {
      turn.signal.throwIfAborted();
      const step = plan.next(allocation.offset, now());
      if (step.kind === 'complete') return;
      if (step.kind === 'wait') {
        await sleep(step.ms, turn.signal);
        continue;
      }
      try {
        await this.#fetch(run, step);
      } catch (error) {
        turn.signal.throwIfAborted();
        if (!(error instanceof SourceFailure)) throw error;
        const end = plan.keeps(step, error.error, allocation.offset, error.isTooLong);
        if (end < allocation.offset) await cutBack(allocation, end);
        plan.failed(error.error, allocation.offset, now());
      }
    }
  }

  /** Fetches the rest of a part from one URL. @throws SourceFailure; errors of the depot */
  async #fetch(run: Run, ask: PullAsk): Promise<void> {
    const { depot, owners, policy, originUse, onBytes, now } = this.#options;
    const { allocation, plan, client } = run;
    const { signal } = run.turn;
    const url = new URL(ask.url);
    let answer: HttpResponse | undefined;
    let use: ReturnType<OriginUse['admit']> | undefined;
    try {
      try {
        use = originUse.admit(url, policy.rule(url), client, now());
        answer = await this.#open(url, ask, signal, client);
        plan.answered(ask, this.#judge(url, ask, answer));
      } catch (error) {
        throw new SourceFailure(error);
      }
      // Before bytes of this version are stored: after a kill, too, the next pull must know it.
      run.record = { ...run.record, seen: plan.seen };
      await depot.contents.notePull(allocation, run.record);
      const bytes = ask.range.end - ask.range.start;
      const body = new PulledBody(answer, { bytes, signal, now });
      await append(allocation, {
        async next() {
          let piece: Buffer | undefined;
          try {
            piece = await body.next();
          } catch (error) {
            throw new SourceFailure(error, body.isTooLong);
          }
          if (piece === undefined) return undefined;
          onBytes(piece.length);
          use?.sent(piece.length, now());
          const waitMs = owners.pause(allocation.head.owner, piece.length, now());
          const pause = Math.max(waitMs, use?.waitMs(now()) ?? 0);
          if (pause > 0) await sleep(pause, signal);
          return piece;
        },
        makeRoom: (end) => depot.space.makeRoom(allocation, end),
        onAcknowledged() {},
        now,
      });
    } finally {
      answer?.discard();
      use?.release(now());
    }
  }

  #open(url: URL, ask: PullAsk, signal: AbortSignal, client: string): Promise<HttpResponse> {
    return this.#options.client.open({
      ...{ url, scope: 'public', client, signal, headers: pullFields(ask) },
      admits: this.#options.isInNetwork,
    });
  }

  /** @throws MillraceError as `judgePulled`, and as `OriginPolicy.checkAnswer` */
  #judge(url: URL, ask: PullAsk, answer: HttpResponse): PulledVersion {
    const { status, headers, arrivedAt } = answer;
    const retryAfterMs = parseRetryAfter(listField(headers, 'retry-after'), arrivedAt);
    const version = judgePulled(ask, status, headers, retryAfterMs);
    this.#options.policy.checkAnswer(url, answer);
    return version;
  }

  async #noteFailure({ allocation, plan, record }: Run, error: MillraceError): Promise<void> {
    const { depot, log, wallClock } = this.#options;
    const { id, owner } = allocation.head;
    const { code, detail } = error;
    if (code === 'internal') log.error({ err: error.cause ?? error, id }, 'a pull has failed');
    else log.warn({ id, owner, code, detail: hideSecrets(detail) }, 'a pull has ended early');
    // The edge ends. When it starts again, the record tells that.
    if (error.code === 'draining') return;
    try {
      await depot.contents.notePull(
        allocation,
        failedPull({ ...record, seen: plan.seen }, error, wallClock()),
      );
    } catch (cause) {
      // An allocation that has ended has no state any more.
      if (isMillraceError(cause)) return;
      log.error({ err: cause, id }, 'the end of a pull could not be recorded');
    }
  }
}

/** Plans a pull from where the upload stands. */
function planOf({ head, offset }: Allocation, { parts, sha256 }: PullRequest): PullPlan {
  return new PullPlan(parts, {
    ...{ stored: offset, seen: head.pull?.seen },
    nameOf: (url) => createHash('sha256').update(url).digest('hex'),
    isProved: (sha256 ?? head.sha256) !== undefined,
  });
}
