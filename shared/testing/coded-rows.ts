/**
 * Chooses units of a coded file (Reed-Solomon, k+m) by the rules of LOCI 3.2, for comparison with
 * whole replicas: a row in place of a block, and one more shard in place of one more copy. Each source
 * has one shard, and any k units of a row give its bytes.
 */

import type { ByteRange } from '../src/base/byte-range.ts';
import type { Assignment } from '../src/download/scheduler/scheduler.ts';
import type { Chooser } from './simulated-download.ts';

interface Unit extends Assignment {
  readonly row: number;
}

interface Row {
  /** Sources whose unit has arrived. */
  readonly there: Set<string>;
  /** Sources whose unit is under way. */
  readonly coming: Set<string>;
}

export class CodedRows implements Chooser {
  readonly #data: number;
  readonly #progress: number;
  readonly #unitBytes: number;
  readonly #rows: readonly Row[];
  readonly #running = new Set<Unit>();
  #done = 0;

  /**
   * @param length of the file, bytes
   * @param data shards that give the file, k
   * @param unitBytes length of a unit; a row has k of them
   * @param progress complete rows after a row beyond which it is late, P in LOCI 3.2
   */
  constructor(length: number, data: number, unitBytes: number, progress: number) {
    this.#data = data;
    this.#unitBytes = unitBytes;
    this.#progress = progress;
    this.#rows = Array.from({ length: Math.ceil(length / (data * unitBytes)) }, () => ({
      there: new Set<string>(),
      coming: new Set<string>(),
    }));
  }

  get done(): boolean {
    return this.#done === this.#rows.length;
  }

  next(source: string): Unit | undefined {
    let completeAfter = this.#done;
    let fresh: number | undefined;
    let last: number | undefined;
    for (const [row, { there, coming }] of this.#rows.entries()) {
      if (there.size >= this.#data) {
        completeAfter--;
        continue;
      }
      if (there.has(source) || coming.has(source)) continue;
      const isAsked = there.size + coming.size >= this.#data;
      if (isAsked && completeAfter > this.#progress) return this.#start(row, source, true);
      if (isAsked) last ??= row;
      else fresh ??= row;
    }
    if (fresh !== undefined) return this.#start(fresh, source, false);
    return last === undefined ? undefined : this.#start(last, source, true);
  }

  onBytes(assignment: Assignment, range: ByteRange): readonly Assignment[] {
    const unit = assignment as Unit;
    if (range.end < unit.range.end) return [];
    const row = this.#rows[unit.row] as Row;
    row.there.add(unit.source);
    if (row.there.size !== this.#data) return [];
    this.#done++;
    return [...this.#running].filter((other) => other.row === unit.row && other !== unit);
  }

  onEnd(assignment: Assignment): void {
    const unit = assignment as Unit;
    this.#running.delete(unit);
    this.#rows[unit.row]?.coming.delete(unit.source);
  }

  /** Requests the unit of a row from a source; its position is that in the source's shard. */
  #start(row: number, source: string, redundant: boolean): Unit {
    const start = row * this.#unitBytes;
    const range = { start, end: start + this.#unitBytes };
    const unit = { source, row, range, end: range.end, redundant };
    this.#running.add(unit);
    this.#rows[row]?.coming.add(source);
    return unit;
  }
}
