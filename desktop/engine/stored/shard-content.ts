/**
 * The bytes of a lost shard. Where good copies have the bytes of a data shard, its depot pulls them
 * there; otherwise this process solves the shard from others. Shards cover the stream, so those of an
 * encrypted file are rebuilt without its key.
 */

import type { PullPart } from '@millrace/shared/cdn/depot/pull-plan';
import type { ShardOf } from '@millrace/shared/exnode/coded';
import { columnsOf, shardBytes, unitsOf } from '@millrace/shared/exnode/coded';
import { replicaBlock } from '@millrace/shared/exnode/replicas';
import { type ContentOptions, MAX_URLS } from './extent-content.ts';
import type { FillContent } from './replica-fill.ts';
import type { ShardSolver } from './shard-solver.ts';

/** Most parts of a pull. */
const MAX_PARTS = 1024;

export interface ShardContentOptions extends Pick<ContentOptions, 'exnode' | 'plan'> {
  readonly shard: ShardOf;
  readonly solver: ShardSolver;
}

export class ShardContent implements FillContent {
  readonly #options: ShardContentOptions;

  constructor(options: ShardContentOptions) {
    this.#options = options;
  }

  get bytes(): number {
    const { extent, index } = this.#options.shard;
    return shardBytes(extent, index);
  }

  get blockBytes(): number {
    return this.#options.exnode.blocks.pieceBytes;
  }

  get hexes(): readonly string[] {
    const { exnode, shard } = this.#options;
    const { extent, index } = shard;
    const { data, parityHexes } = extent;
    if (index >= data) return parityHexes[index - data] ?? [];
    const listed = { replica: { read: '', at: 0 }, extent, shard };
    const count = Math.min(
      columnsOf(extent, this.blockBytes),
      Math.ceil(this.bytes / this.blockBytes),
    );
    return Array.from({ length: count }, (_, number) => replicaBlock(exnode, listed, number).hex);
  }

  /** The digest of a shard is not known, only those of its blocks. */
  get sha256(): undefined {
    return undefined;
  }

  get canBePulled(): boolean {
    return this.pulled() !== undefined;
  }

  /** Lists parts of good copies that together are a data shard. */
  pulled(): readonly PullPart[] | undefined {
    const { exnode, plan, shard } = this.#options;
    const { extent, index } = shard;
    if (index >= extent.data) return undefined;
    const parts: PullPart[] = [];
    for (const { start, end } of unitsOf(extent, index)) {
      for (let at = start; at < end; ) {
        const copy = exnode.extents.find(
          (one) => one.start <= at && at < one.end && plan.sources(one).length > 0,
        );
        if (copy === undefined || parts.length === MAX_PARTS) return undefined;
        const sources = plan.sources(copy);
        const ahead = sources[0]?.at ?? 0;
        const used = sources.filter((one) => one.at === ahead).slice(0, MAX_URLS);
        const bytes = Math.min(end, copy.end) - at;
        const from = used.map(({ read }) => read);
        parts.push({ from, start: ahead + at - copy.start, bytes });
        at += bytes;
      }
    }
    return parts;
  }

  async *read(offset: number): AsyncGenerator<Buffer> {
    const { solver, shard } = this.#options;
    for (let at = offset; at < this.bytes; ) {
      const column = Math.floor(at / this.blockBytes);
      const block = await solver.block(shard.index, column);
      const start = column * this.blockBytes;
      yield block.subarray(at - start);
      at = start + block.length;
    }
  }
}
