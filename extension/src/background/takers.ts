/** Combines the takers: picks the one to use, and lists the downloads of all. */

import { mostUrgent } from '@millrace/shared/bridge/rpc/urgency';
import {
  type AddedLink,
  type ShownDownload,
  type Taker,
  type TakerDownloads,
  TakerError,
  type TakerKind,
} from '../contract/taker.ts';
import type { Discarded } from '../hand-off/hand-off.ts';
import type { TakersPort } from '../hand-off/ports.ts';
import type { DesktopTaker } from '../takers/desktop.ts';
import type { RemoteTaker } from '../takers/remote.ts';

export type WholeTaker = Taker & TakerDownloads;
/** The extension's own taker. */
export type OwnTaker = WholeTaker & { discard(id: string): Promise<void> };

/** Most downloads in a list. */
const MAX_SHOWN = 500;

/** Merges lists into one of at most `MAX_SHOWN` downloads, what runs first. */
export function urgentFirst(
  lists: readonly (readonly ShownDownload[])[],
): readonly ShownDownload[] {
  return mostUrgent(lists.flat(), MAX_SHOWN);
}

export class Takers implements TakersPort {
  readonly desktop: DesktopTaker;
  readonly remote: RemoteTaker;
  readonly #browser: OwnTaker;

  constructor(desktop: DesktopTaker, browser: OwnTaker, remote: RemoteTaker) {
    this.desktop = desktop;
    this.remote = remote;
    this.#browser = browser;
  }

  get(kind: TakerKind): WholeTaker {
    if (kind === 'remote') return this.remote;
    return kind === 'desktop' ? this.desktop : this.#browser;
  }

  async discard(kind: TakerKind, takenAs: string, kept: string | undefined): Promise<Discarded> {
    if (kind === 'desktop') {
      await this.desktop.discard(takenAs, kept);
      return 'removed';
    }
    if (kind === 'remote') {
      await this.remote.discard(takenAs);
      return 'removed';
    }
    // A complete download of the browser taker is already a file in the browser's folder, beside
    // the browser's own copy.
    const download = (await this.#browser.list()).find(({ id }) => id === takenAs);
    if (download?.status === 'complete') return 'complete';
    if (download !== undefined) await this.#browser.discard(takenAs);
    return 'removed';
  }

  /** Returns the downloads of all takers that answer, what runs first. */
  async list(kinds: readonly TakerKind[]): Promise<readonly ShownDownload[]> {
    const lists = await Promise.all(
      kinds.map((kind) =>
        this.get(kind)
          .list()
          .catch(() => []),
      ),
    );
    return urgentFirst(lists);
  }

  /**
   * Adds downloads with the first taker that is available.
   *
   * @returns the number of added downloads
   * @throws TakerError
   */
  async add(kinds: readonly TakerKind[], links: readonly AddedLink[]): Promise<number> {
    let failure = new TakerError('absent', 'Neither the app nor this extension can download it');
    for (const kind of kinds) {
      try {
        return (await this.get(kind).add(links)).length;
      } catch (error) {
        if (!(error instanceof TakerError) || error.problem !== 'absent') throw error;
        failure = error;
      }
    }
    throw failure;
  }
}
