/** Account of a soak: operations, bytes, faults, failures, hangs and wrong bytes. */

import { causeOf, type Failure, type FaultWindow, type Strike, type Work } from './causes.ts';
import type { Fault, FaultKind } from './fault-plan.ts';
import type { Sample } from './slopes.ts';

/** Most words of a page about events of one kind: more say nothing new. */
const MOST_WORDS = 30;

/** Milliseconds on the clock of all times of a soak. */
export const now = (): number => performance.now();

export class Ledger {
  readonly begunAt = now();
  /** Complete operations of each kind, all of them compared by digest. */
  readonly done: Record<Work, number> = { read: 0, get: 0, upload: 0, daemon: 0, browser: 0 };
  readonly faults: FaultWindow[] = [];
  readonly failures: Failure[] = [];
  readonly samples: Sample[] = [];
  /** Descriptions of bodies and files that no version of their file has. */
  readonly wrong: string[] = [];
  /** Descriptions of operations that made no progress for too long. */
  readonly hangs: string[] = [];
  /** Descriptions of downloads that were acknowledged and are gone. */
  readonly lost: string[] = [];
  /** Programs that have ended by themselves, in words. */
  readonly deaths: string[] = [];
  /** Troubles of the soak itself, such as a process that does not start. */
  readonly troubles: string[] = [];
  bytes = 0;
  readonly #onEvent: (line: string) => void;

  /** @param onEvent gets a line for each event that matters while the soak goes on */
  constructor(onEvent: (line: string) => void = () => {}) {
    this.#onEvent = onEvent;
  }

  /** Notes a fault's beginning. @returns a function that notes that all of it is mended */
  begin({ kind, target }: Pick<Fault, 'kind' | 'target'>): () => void {
    const at = this.faults.push({ kind, target, from: now(), until: Number.POSITIVE_INFINITY }) - 1;
    return () => {
      this.faults[at] = { ...(this.faults[at] as FaultWindow), until: now() };
    };
  }

  /** Notes a failed operation. */
  fail(work: Work, code: string, from: number, strikes: readonly Strike[], detail: string): void {
    const failure = { work, code, from, until: now(), strikes, detail };
    this.failures.push(failure);
    if (causeOf(failure, this.faults) === undefined)
      this.#say(`unexplained: ${work} ${code}: ${detail}`);
  }

  /** Counts an operation whose bytes were right. */
  complete(work: Work, bytes: number): void {
    this.done[work]++;
    this.bytes += bytes;
  }

  wrongBytes(what: string): void {
    this.wrong.push(`${this.#time()} ${what}`);
    this.#say(`WRONG BYTES: ${what}`);
  }

  hang(what: string): void {
    this.hangs.push(`${this.#time()} ${what}`);
    this.#say(`HANGS: ${what}`);
  }

  lose(what: string): void {
    this.lost.push(`${this.#time()} ${what}`);
    this.#say(`LOST: ${what}`);
  }

  die(what: string): void {
    this.deaths.push(`${this.#time()} ${what}`);
    this.#say(`DIED: ${what}`);
  }

  trouble(what: string): void {
    this.troubles.push(`${this.#time()} ${what}`);
    this.#say(`trouble: ${what}`);
  }

  /** Returns the failures that no fault explains. */
  get unexplained(): Failure[] {
    return this.failures.filter((failure) => causeOf(failure, this.faults) === undefined);
  }

  /** Counts the faults by kind. */
  get faultCounts(): ReadonlyMap<FaultKind, number> {
    const kinds = Map.groupBy(this.faults, ({ kind }) => kind);
    return new Map([...kinds].map(([kind, all]) => [kind, all.length]));
  }

  /** Returns seconds since the beginning, for people. */
  #time(at = now()): string {
    return `${((at - this.begunAt) / 1000).toFixed(1)} s:`;
  }

  /** Formats a failure with its time. */
  wordsOf({ work, code, until, detail }: Failure): string {
    return `${this.#time(until)} ${work} ${code}: ${detail}`.slice(0, 400);
  }

  #say(line: string): void {
    this.#onEvent(`${this.#time()} ${line}`);
  }
}

/** Shortens a list for a page. */
export function shortened(lines: readonly string[]): readonly string[] {
  const more = lines.length - MOST_WORDS;
  return more <= 0 ? lines : [...lines.slice(0, MOST_WORDS), `… and ${more} more`];
}
