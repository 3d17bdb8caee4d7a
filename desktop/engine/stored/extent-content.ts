/** The bytes of a further replica of an extent: those of its good replicas. */

import { type ByteRange, rangeBytes } from '@millrace/shared/base/byte-range';
import type { MillraceError } from '@millrace/shared/base/errors';
import type { PullPart } from '@millrace/shared/cdn/depot/pull-plan';
import type { Augmentation, Fill } from '@millrace/shared/exnode/augment';
import type { Exnode, ExnodeReplica } from '@millrace/shared/exnode/exnode';
import type { DownloadSource } from '../sources/download-source.ts';
import { provenBytes } from './proven-bytes.ts';
import type { FillContent } from './replica-fill.ts';

/** Most URLs of a part that is pulled. */
export const MAX_URLS = 16;

export interface ContentOptions {
  readonly exnode: Exnode;
  readonly plan: Augmentation;
  readonly fill: Fill;
  readonly source: (replica: ExnodeReplica) => Promise<Pick<DownloadSource, 'openRange'>>;
  /** Called with a replica that has sent wrong bytes. */
  readonly onWrong: (replica: ExnodeReplica, error: MillraceError) => void;
  readonly signal: AbortSignal;
}

export class ExtentContent implements FillContent {
  readonly canBePulled = true;
  readonly #options: ContentOptions;
  /** Replicas that the depot was told to pull from, in its order. */
  #pulledFrom: readonly ExnodeReplica[] = [];

  constructor(options: ContentOptions) {
    this.#options = options;
  }

  get bytes(): number {
    return rangeBytes(this.#options.fill);
  }

  get blockBytes(): number {
    return this.#options.exnode.blocks.pieceBytes;
  }

  get hexes(): readonly string[] {
    const { fill, exnode } = this.#options;
    const { pieceBytes, hexes } = exnode.blocks;
    return hexes.slice(fill.start / pieceBytes, Math.ceil(fill.end / pieceBytes));
  }

  /** The digest of the whole file, if that is the replica. */
  get sha256(): string | undefined {
    const { exnode, fill } = this.#options;
    return fill.start === 0 && fill.end === exnode.size ? exnode.sha256 : undefined;
  }

  pulled(): readonly PullPart[] | undefined {
    const { fill, plan } = this.#options;
    const sources = plan.sources(fill);
    const [first] = sources;
    if (first === undefined) return undefined;
    // All URLs of a part have it at one position.
    const used = sources.filter(({ at }) => at === first.at).slice(0, MAX_URLS);
    plan.onUsed(first);
    this.#pulledFrom = used;
    return [{ from: used.map(({ read }) => read), start: first.at, bytes: rangeBytes(fill) }];
  }

  async *read(offset: number): AsyncGenerator<Buffer> {
    const { exnode, fill, plan, signal, source, onWrong } = this.#options;
    const range: ByteRange = { start: fill.start + offset, end: fill.end };
    const made = new Map<ExnodeReplica, Pick<DownloadSource, 'openRange'>>();
    for (const replica of plan.sources(fill)) made.set(replica, await source(replica));
    yield* provenBytes({
      ...{ exnode, range, extentStart: fill.start, signal, onWrong },
      replicas: () => this.#readFrom().filter((replica) => made.has(replica)),
      source: (replica) => made.get(replica) as Pick<DownloadSource, 'openRange'>,
    });
  }

  /** Lists the good replicas. Those of a pull come first: if one has wrong bytes, that is found out. */
  #readFrom(): ExnodeReplica[] {
    const good = this.#options.plan.sources(this.#options.fill);
    const isPulled = new Set(this.#pulledFrom);
    const first = this.#pulledFrom.filter((replica) => good.includes(replica));
    return [...first, ...good.filter((replica) => !isPulled.has(replica))];
  }
}
