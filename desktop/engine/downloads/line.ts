/** Carries out users' commands to downloads in the queue: pause, resume, retry, reorder. */

import type { DownloadQueue, Move } from '@millrace/shared/download/queue/queue';
import type { Chores } from '../queue/chores.ts';
import type { QueueRunner } from '../queue/queue-runner.ts';
import type { Records } from '../queue/records.ts';
import type { Remover } from '../removal/removing.ts';

export interface LineOptions {
  readonly records: Records;
  readonly queueRunner: QueueRunner;
  readonly remover: Remover;
  readonly chores: Chores;
}

export class Line {
  readonly #options: LineOptions;

  constructor(options: LineOptions) {
    this.#options = options;
  }

  get #queue(): DownloadQueue {
    return this.#options.records.queue;
  }

  /** Pauses a download. @returns false if it is already paused or finished */
  pause(gid: string): boolean {
    const { records, queueRunner, chores } = this.#options;
    if (!this.#queue.pause(gid)) return false;
    void chores.add(queueRunner.stop(gid));
    records.update(gid, { state: 'paused', retryAt: undefined });
    records.emit({ kind: 'paused', gid });
    queueRunner.tick();
    return true;
  }

  /** Resumes a download. @returns false if it was not paused */
  resume(gid: string): boolean {
    const { records, queueRunner } = this.#options;
    if (!this.#queue.resume(gid)) return false;
    records.requeue(gid);
    queueRunner.tick();
    return true;
  }

  /** Puts a failed or removed download into the queue again, and retries a waiting one at once. */
  retry(gid: string): boolean {
    const { records, queueRunner, remover, chores } = this.#options;
    const record = records.get(gid);
    if (record.state === 'removed' && remover.trash.has(record.gid)) {
      // The download comes back from the trash with its data.
      void chores.add(remover.restore([record.gid]).then(() => this.resume(record.gid)));
      return true;
    }
    if (record.state === 'waiting') this.#queue.hurry(record.gid);
    else if (record.state !== 'error' && record.state !== 'removed') return false;
    else records.reopen(record);
    records.requeue(record.gid);
    queueRunner.tick();
    return true;
  }

  /** Moves a download in the queue. @returns its new position; -1 if it is not in the queue */
  move(gid: string, offset: number, how: Move): number {
    const { records, queueRunner } = this.#options;
    const { position, changed } = this.#queue.move(gid, offset, how);
    records.store.atOnce(() => records.keepOrder(changed));
    for (const one of changed) records.emit({ kind: 'changed', gid: one });
    queueRunner.tick();
    return position;
  }

  /**
   * Moves downloads of the queue, in this order, before another one or to the end.
   *
   * @param before gid of that other one; undefined: to the end
   * @returns gids of the downloads that were moved
   */
  place(gids: readonly string[], before: string | undefined): string[] {
    const { records, queueRunner } = this.#options;
    return queueRunner.hold(() => records.store.atOnce(() => this.#placeEach(gids, before)));
  }

  #placeEach(gids: readonly string[], before: string | undefined): string[] {
    const placed: string[] = [];
    for (const gid of gids) {
      const from = this.#queue.position(gid);
      if (from === undefined || gid === before) continue;
      const target = before === undefined ? undefined : this.#queue.position(before);
      // Taking the download out moves the ones behind it up by one.
      const to = target === undefined ? undefined : target - (from < target ? 1 : 0);
      if (to === undefined) this.move(gid, 0, 'end');
      else this.move(gid, to, 'set');
      placed.push(gid);
    }
    return placed;
  }
}
