/**
 * A place of an exNode as a source: a server that has parts of the file, each behind a URL of its
 * own, at any position of what the URL serves.
 */

import { type ByteRange, firstBehind } from '@millrace/shared/base/byte-range';
import { asMillraceError, MillraceError } from '@millrace/shared/base/errors';
import type { SourceHealth } from '@millrace/shared/download/transfer/source-health';
import type { Place, PlacePart } from '@millrace/shared/exnode/places';
import { canPin } from '@millrace/shared/http/fields/validators';
import { hideSecrets } from '@millrace/shared/http/urls/depot-link';
import { DownloadSource, type DownloadSourceOptions } from '../download-source.ts';
import type { Opened, WholeAnswer } from '../source-answer.ts';

export interface PlaceSourceOptions {
  readonly place: Place;
  /** Tells places at one server apart. */
  readonly index: number;
  readonly health: SourceHealth;
  /** Makes the source of what a URL serves. */
  readonly open: (url: string) => DownloadSource;
}

/** A source that has parts of the file, which change. */
export abstract class PartSource extends DownloadSource {
  constructor(options: Omit<DownloadSourceOptions, 'kind'>) {
    super({ ...options, kind: 'depot' });
    // The digests of blocks decide what its bytes are worth, and not how it calls their version.
    this.version = { length: Number.MAX_SAFE_INTEGER, validators: {} };
  }

  /** The parts that it has now. */
  abstract override get parts(): readonly ByteRange[];

  /** Refuses: a source of parts has no whole file. */
  override openWhole(): Promise<WholeAnswer> {
    return Promise.reject(new MillraceError('internal', 'a source of parts is asked for the file'));
  }
}

export class PlaceSource extends PartSource {
  readonly #open: (url: string) => DownloadSource;
  readonly #index: number;
  #parts: readonly PlacePart[];
  readonly #files = new Map<string, DownloadSource>();

  constructor({ place, index, health, open }: PlaceSourceOptions) {
    const { origin, parts } = place;
    super({ label: new URL(origin).host, url: origin, health });
    this.#open = open;
    this.#index = index;
    this.#parts = parts;
  }

  override get id(): string {
    return `${this.url}#${this.#index}`;
  }

  /** The parts that it still has, ascending and disjoint. */
  override get parts(): readonly PlacePart[] {
    return this.#parts;
  }

  /**
   * Asks for bytes of one part.
   *
   * @throws MillraceError; `origin-error` if only this part is lost, which is asked for no more
   */
  override async openRange(
    asked: ByteRange,
    _pinned: unknown,
    signal: AbortSignal,
  ): Promise<Opened> {
    const part = this.#parts[firstBehind(this.#parts, asked.start)];
    if (part === undefined || part.start > asked.start || part.end < asked.end) {
      throw new MillraceError('origin-error', `it has lost bytes from ${asked.start} on`);
    }
    const file = this.#files.get(part.url) ?? this.#open(part.url);
    this.#files.set(part.url, file);
    const ahead = part.at - part.start;
    const range = { start: asked.start + ahead, end: asked.end + ahead };
    try {
      const opened = await file.openRange(range, file.version, signal);
      [this.rttMs, this.headMs] = [file.rttMs, file.headMs];
      if (opened.kind === 'whole') {
        opened.discard();
        throw new MillraceError('range-ignored', 'it sends no ranges whose version is known');
      }
      if (canPin(opened.version.validators)) file.version ??= opened.version;
      return {
        ...opened,
        range: asked,
        read: (sink, room) => opened.read((at, bytes) => sink(at - ahead, bytes), room),
      };
    } catch (error) {
      signal.throwIfAborted();
      throw this.#judged(asMillraceError(error), part);
    }
  }

  /** Gives up a part that is gone or has changed, and keeps the others. */
  #judged(error: MillraceError, { url }: PlacePart): MillraceError {
    if (error.row.file === undefined) return error;
    const left = this.#parts.filter((part) => part.url !== url);
    if (left.length === 0) return error;
    this.#parts = left;
    return new MillraceError('origin-error', `${hideSecrets(url)}: ${error.message}`);
  }
}
