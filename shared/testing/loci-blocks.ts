/**
 * Implements LOCI 3.2 exactly, with blocks of one size and without forecasts: the algorithm that
 * the paper measured, for comparison.
 */

import type { ByteRange } from '../src/base/byte-range.ts';
import { BlockMap, type Redundancy } from '../src/download/scheduler/block-map.ts';
import type { Assignment } from '../src/download/scheduler/scheduler.ts';
import type { Chooser } from './simulated-download.ts';

class BlockRequest implements Assignment {
  readonly source: string;
  readonly block: number;
  readonly range: ByteRange;
  readonly redundant: boolean;

  constructor(source: string, block: number, range: ByteRange, redundant: boolean) {
    this.source = source;
    this.block = block;
    this.range = range;
    this.redundant = redundant;
  }

  get end(): number {
    return this.range.end;
  }
}

export class LociBlocks implements Chooser {
  readonly #blocks: BlockMap;
  readonly #redundancy: Redundancy;
  readonly #running = new Set<BlockRequest>();

  constructor(length: number, blockBytes: number, redundancy: Redundancy) {
    this.#blocks = new BlockMap(length, blockBytes);
    this.#redundancy = redundancy;
  }

  get done(): boolean {
    return this.#blocks.allDone;
  }

  next(source: string): BlockRequest | undefined {
    const elsewhere = (block: number) =>
      ![...this.#running].some((r) => r.block === block && r.source === source);
    const block = this.#blocks.next(this.#redundancy, elsewhere);
    if (block === undefined) return undefined;
    const redundant = this.#blocks.running(block) > 0;
    const request = new BlockRequest(source, block, this.#blocks.range(block), redundant);
    this.#blocks.start(block);
    this.#running.add(request);
    return request;
  }

  onBytes(assignment: Assignment, range: ByteRange): readonly Assignment[] {
    if (range.end < assignment.range.end) return [];
    const { block } = assignment as BlockRequest;
    this.#blocks.finish(block);
    return [...this.#running].filter((r) => r.block === block && r !== assignment);
  }

  onEnd(assignment: Assignment): void {
    this.#running.delete(assignment as BlockRequest);
    this.#blocks.end((assignment as BlockRequest).block);
  }
}
