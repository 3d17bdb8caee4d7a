/** Shows how replicas are added, and the result. */

import { shownRanges } from '@millrace/shared/base/byte-range';
import type { MillraceError } from '@millrace/shared/base/errors';
import type { Fill } from '@millrace/shared/exnode/augment';
import type { ExnodeReplica } from '@millrace/shared/exnode/exnode';
import { depotOf } from '@millrace/shared/exnode/layout';
import type { FindObserver } from '../../../engine/depots/find-depots.ts';
import type { Augmented, AugmentObserver } from '../../../engine/stored/augment-exnode.ts';
import type { CliContext, Report } from '../../console/context.ts';
import { counted } from '../../text/counted.ts';
import { StoreProgress } from '../../view/store-progress.ts';
import type { StaleResult } from './owned-exnode.ts';

export class AugmentView implements AugmentObserver, FindObserver {
  readonly #report: Report;
  readonly #progress: StoreProgress;
  #hasBegun = false;

  constructor(report: Report, out: CliContext, name: string, quiet: boolean) {
    this.#report = report;
    this.#progress = new StoreProgress(report, out, name, quiet);
  }

  found(edge: string, by: string): void {
    this.#progress.found(edge, by);
  }

  passed(edge: string, error: MillraceError): void {
    this.#progress.passed(edge, error);
  }

  begun(bytes: number, stored: number): void {
    this.#hasBegun = true;
    this.#progress.begun(bytes, stored);
  }

  planned(bytes: number): void {
    this.#progress.planned(bytes);
  }

  sent(bytes: number): void {
    this.#progress.sent(bytes);
  }

  retried(error: MillraceError, pauseMs: number): void {
    this.#progress.retried(error, pauseMs);
  }

  left(depot: string, error: MillraceError): void {
    this.#progress.left(depot, error);
  }

  fed({ depot, start, end, shard }: Fill, { code, message }: MillraceError): void {
    const event = { event: 'fed', edge: depot, start, end, shard, code, message };
    this.#progress.tell(event, `${depot}: ${message}; the bytes go through this computer`);
  }

  wrong(replica: ExnodeReplica, { code, message }: MillraceError): void {
    const depot = depotOf(replica);
    const event = { event: 'replica-wrong', read: replica.read, code, message };
    const text = 'its replica does not count; "trim --damaged" takes it out of the exNode';
    this.#progress.tell(event, `${depot}: ${message}; ${text}`);
  }

  added({ depot, start, end, shard }: Fill): void {
    const range = shownRanges([{ start, end }]);
    const what = shard === undefined ? range : `shard ${shard} of ${range}`;
    const text = `${depot}: has ${what} now`;
    this.#progress.tell({ event: 'added', edge: depot, start, end, shard }, text);
  }

  done(
    { exnode, added, missing, failure }: Augmented,
    copies: number | undefined,
    stale: readonly StaleResult[],
  ): void {
    this.end();
    if (this.#hasBegun && failure === undefined) this.#progress.stored();
    const { ms } = this.#progress;
    const { name, root } = exnode;
    // An error is the last object for programs.
    const event = failure === undefined ? 'done' : 'stopped';
    const document = { event, name, root, added, copies, missing, stale, ms };
    this.#report.result(document, () => [
      `${counted(added, 'replica')} more in the exNode`,
      ...(missing.length === 0 ? [] : [`nothing to copy: nobody has ${shownRanges(missing)}`]),
    ]);
  }

  /** Ends the updates. */
  end(): void {
    this.#progress.end();
  }
}
