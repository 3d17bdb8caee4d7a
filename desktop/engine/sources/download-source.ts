/**
 * A source of a download of the app, whatever protocol it speaks. Each kind of source is a class
 * that extends this one.
 */

import { type ByteRange, RangeSet } from '@millrace/shared/base/byte-range';
import type { Millis } from '@millrace/shared/base/clock';
import { holdsOf } from '@millrace/shared/download/exnode/part-holds';
import type { SourceKind } from '@millrace/shared/download/request/source-kinds';
import type { Holds } from '@millrace/shared/download/scheduler/holdings';
import type { SourceHealth } from '@millrace/shared/download/transfer/source-health';
import { TransferSource } from '@millrace/shared/download/transfer/transfer-source';
import type { PinnedVersion } from '@millrace/shared/http/answers/range-contract';
import type { Opened, WholeAnswer } from './source-answer.ts';

export interface DownloadSourceOptions {
  readonly kind: SourceKind;
  /** Label for the user interface: the edge's address, or the host. */
  readonly label: string;
  /** URL of the file at the origin or mirror; of a source of parts, the server's. */
  readonly url: string;
  /** Base URL of the edge; undefined if `url` is asked directly. */
  readonly edge?: string | undefined;
  readonly health: SourceHealth;
}

const WHOLE: readonly ByteRange[] = [{ start: 0, end: Number.MAX_SAFE_INTEGER }];

export abstract class DownloadSource extends TransferSource {
  override readonly kind: SourceKind;
  override readonly host: string;
  readonly label: string;
  readonly url: string;
  readonly edge: string | undefined;
  /** Version that this source must send; undefined until the source is shown to have the file. */
  version: PinnedVersion | undefined;
  /** All ranges that this source has sent. */
  readonly given = new RangeSet();
  /** Versions that partial answers stated, also answers that could not be used. */
  readonly stated: PinnedVersion[] = [];
  /** True if the last first request was for the whole file, after one for a range had failed. */
  wasAskedForWhole = false;
  /** URL that the last answer came from, after redirects; undefined before the first answer. */
  answeredBy: URL | undefined;
  /** Shortest time to an answer, in milliseconds; undefined before the first answer. */
  rttMs: Millis | undefined;
  /** Shortest time from a request, on an open connection, to the head of its answer. */
  headMs: Millis | undefined;
  #denied: (() => readonly ByteRange[]) | undefined;
  #holds: Holds | undefined;

  constructor({ kind, label, url, edge, health }: DownloadSourceOptions) {
    super(health);
    this.kind = kind;
    this.label = label;
    this.url = url;
    this.edge = edge;
    this.host = new URL(edge ?? url).host;
  }

  override get isAdmitted(): boolean {
    return this.version !== undefined;
  }

  /** Parts of the file that it has, ascending and disjoint; undefined: the whole file. */
  get parts(): readonly ByteRange[] | undefined {
    return undefined;
  }

  override get holds(): Holds | undefined {
    return this.#holds;
  }

  /** True while others are to bring some bytes first: it may be asked for them later. */
  override get mayHaveMore(): boolean {
    return this.parts === undefined && (this.#denied?.().length ?? 0) > 0;
  }

  /** Returns true if it has all of a range. */
  has({ start, end }: ByteRange): boolean {
    return this.parts?.some((part) => part.start <= start && end <= part.end) ?? true;
  }

  /**
   * Keeps the source from bringing some bytes.
   *
   * @param ranges lists them, ascending; asked again for each request
   */
  deny(ranges: () => readonly ByteRange[]): void {
    this.#denied = ranges;
    this.#holds = holdsOf(() => this.parts ?? WHOLE, ranges);
  }

  override gave(range: ByteRange, defines = false): void {
    super.gave(range, defines);
    this.given.add(range);
  }

  /**
   * Asks for a range.
   *
   * @param pinned the version that the answer must be of; undefined for the first request
   * @returns kind `whole` only if `pinned` is undefined
   * @throws MillraceError; the signal's reason
   */
  abstract openRange(
    asked: ByteRange,
    pinned: PinnedVersion | undefined,
    signal: AbortSignal,
  ): Promise<Opened>;

  /**
   * Asks for the whole file in one answer.
   *
   * @param mayBeEncoded leaves out what keeps servers from encoding the file, which some refuse
   * @throws MillraceError; the signal's reason
   */
  abstract openWhole(signal: AbortSignal, mayBeEncoded?: boolean): Promise<WholeAnswer>;
}
