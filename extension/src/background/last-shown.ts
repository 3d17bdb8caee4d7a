/**
 * Keeps the takers' downloads for pages, which need them at once, while the desktop may have to be
 * started first. Until a taker has answered, its last answer is shown.
 */

import type { BrowserApi } from '../browser/api.ts';
import type { ShownDownload, TakerKind } from '../contract/taker.ts';
import { newestFirst, type Takers } from './takers.ts';

/** Nobody sees this wait. */
const PATIENCE_MS = 40;
/** Longest wait where no answer is known yet: an empty list would be wrong rather than old. */
const FIRST_PATIENCE_MS = 3000;
/** Oldest age of the kept answer when the background starts again. */
const KEEP_MS = 5000;
const KEY = 'shown:';
const KINDS: readonly TakerKind[] = ['desktop', 'browser'];

export interface LastShownOptions {
  readonly takers: Pick<Takers, 'list'>;
  readonly storage: Pick<BrowserApi['storage']['session'], 'get' | 'set'>;
  /** A taker has answered late, and differently from the answer that was shown. */
  readonly onLate: () => void;
  /** Milliseconds. */
  readonly now: () => number;
}

export class LastShown {
  readonly #options: LastShownOptions;
  readonly #known = new Map<TakerKind, string>();
  readonly #keptAt = new Map<TakerKind, number>();
  readonly #ready: Promise<void>;

  constructor(options: LastShownOptions) {
    this.#options = options;
    this.#ready = this.#read().catch(() => {});
  }

  /** Newest first. */
  async list(kinds: readonly TakerKind[]): Promise<readonly ShownDownload[]> {
    await this.#ready;
    return newestFirst(await Promise.all(kinds.map((kind) => this.#listOf(kind))));
  }

  async #listOf(kind: TakerKind): Promise<readonly ShownDownload[]> {
    const known = this.#known.get(kind);
    let late = false;
    const asked = this.#options.takers.list([kind]).then((list) => {
      const said = JSON.stringify(list);
      this.#keep(kind, said);
      if (late && said !== (known ?? '[]')) this.#options.onLate();
      return list;
    });
    let timer: ReturnType<typeof setTimeout> | undefined;
    const patience = new Promise<undefined>((resolve) => {
      const ms = known === undefined ? FIRST_PATIENCE_MS : PATIENCE_MS;
      timer = setTimeout(() => {
        late = true;
        resolve(undefined);
      }, ms);
    });
    const list = await Promise.race([asked, patience]);
    clearTimeout(timer);
    if (list !== undefined) return list;
    return known === undefined ? [] : (JSON.parse(known) as ShownDownload[]);
  }

  #keep(kind: TakerKind, said: string): void {
    this.#known.set(kind, said);
    const now = this.#options.now();
    if (now - (this.#keptAt.get(kind) ?? -KEEP_MS) < KEEP_MS) return;
    this.#keptAt.set(kind, now);
    // Without it pages wait a little longer.
    void Promise.resolve(this.#options.storage.set({ [KEY + kind]: said })).catch(() => {});
  }

  async #read(): Promise<void> {
    const stored = await this.#options.storage.get(KINDS.map((kind) => KEY + kind));
    for (const kind of KINDS) {
      const said: unknown = stored[KEY + kind];
      if (typeof said === 'string') this.#known.set(kind, said);
    }
  }
}
