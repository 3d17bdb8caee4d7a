/** Lets the machine sleep or shut down when all downloads are done, if the user has asked for it in this run. */

import type { Millis } from '@millrace/shared/base/clock';
import {
  isDue,
  lookedAt,
  powerCommand,
  type WhenDone,
  type Wish,
} from '@millrace/shared/download/after/when-done';
import type { ManagerEvent, Records } from '../queue/records.ts';
import type { AfterRunner } from './after-runner.ts';

export interface WhenDoneOptions {
  readonly records: Records;
  readonly after: Pick<AfterRunner, 'busy'>;
  /** Unix milliseconds. */
  readonly now: () => Millis;
  /** Runs a program; resolves with its problem, if it has one. Default: on this machine. */
  readonly power?: (command: readonly string[]) => Promise<string | undefined>;
}

/** Other work that the machine must not end, such as files that are sent. */
export interface OtherWork {
  readonly busy: boolean;
  /** Adds a listener, which is called with the ids of what has changed or is gone. */
  listen(listener: (id: string) => void): unknown;
  /** Returns true if what has this id rests or is gone because the user wanted so. */
  endedByHand(id: string): boolean;
}

export interface WhenDoneView {
  readonly what: WhenDone | null;
  readonly at?: Millis | undefined;
  readonly problem?: string | undefined;
}

export class WhenDoneWatch {
  readonly #options: WhenDoneOptions;
  readonly #others: OtherWork[] = [];
  #wish: Wish | undefined;
  #problem: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: WhenDoneOptions) {
    this.#options = options;
    options.records.listen((event) => {
      const { kind } = event;
      if (kind === 'settings' || kind === 'note' || kind === 'stand') return;
      this.#look(() => this.#isByHand(event));
    });
  }

  /** Waits for other work, too, from now on. */
  alsoAwait(work: OtherWork): void {
    this.#others.push(work);
    work.listen((id) => this.#look(() => work.endedByHand(id)));
  }

  get view(): WhenDoneView {
    return { what: this.#wish?.what ?? null, at: this.#wish?.at, problem: this.#problem };
  }

  /** Sets the wish. @param what null: nothing; this also ends a countdown */
  set(what: WhenDone | null): void {
    this.#problem = undefined;
    this.#wish = what === null ? undefined : { what, begun: false };
    this.look();
    this.#options.records.emit({ kind: 'settings' });
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  /** Looks whether all is done, and whether it is time; also called when the clock of a test has moved on. */
  look(): void {
    this.#look(() => false);
  }

  #look(isByHand: () => boolean): void {
    clearTimeout(this.#timer);
    const before = this.#wish;
    if (before === undefined || this.#closed) return;
    const now = this.#options.now();
    const busy = this.#busy;
    const wish = lookedAt(before, { busy, byHand: !busy && isByHand() }, now);
    this.#wish = wish;
    if (isDue(wish, now)) {
      this.#wish = undefined;
      void this.#carryOut(wish.what);
    } else if (wish.at !== undefined) {
      this.#timer = setTimeout(() => this.look(), wish.at - now);
    }
    if (wish.at !== before.at) this.#options.records.emit({ kind: 'settings' });
  }

  get #busy(): boolean {
    const { records, after } = this.#options;
    // Paused downloads wait for their user, who may be away for days.
    const downloads = () => records.unfinished().some(({ state }) => state !== 'paused');
    return after.busy || this.#others.some(({ busy }) => busy) || downloads();
  }

  /** Returns true if the user has paused or removed the download that an event tells of, and so is there. */
  #isByHand(event: ManagerEvent): boolean {
    if (event.kind === 'forgotten') return true;
    if (!('gid' in event)) return false;
    const { records } = this.#options;
    const record = records.find(event.gid) ?? records.store.get(event.gid);
    return record?.state === 'paused' || record?.state === 'removed';
  }

  async #carryOut(what: WhenDone): Promise<void> {
    const command = powerCommand(what, process.platform);
    const run = this.#options.power ?? onThisMachine;
    this.#problem =
      command === undefined ? `no way is known on ${process.platform}` : await run(command);
    this.#options.records.emit({ kind: 'settings' });
  }
}

async function onThisMachine(command: readonly string[]): Promise<string | undefined> {
  const { powerProblem } = await import('./run-command.ts');
  return powerProblem(command);
}
