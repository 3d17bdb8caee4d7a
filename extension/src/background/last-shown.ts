/**
 * Keeps the takers' last lists of downloads. Pages need a list at once, but the desktop may have to
 * be started first: until a taker answers, pages show its last answer.
 */

import type { BrowserApi } from '../browser/api.ts';
import type { ShownDownload, TakerKind } from '../contract/taker.ts';
import { type Takers, urgentFirst } from './takers.ts';

/** Longest wait for a taker whose last answer is known, ms: too short to be noticed. */
const PATIENCE_MS = 40;
/**
 * Longest wait for a taker without a known answer, ms: an empty list would be wrong, not just old.
 */
const FIRST_PATIENCE_MS = 3000;
/** Shortest time between two writes of a taker's answer to the storage, ms. */
const KEEP_MS = 5000;
const KEY = 'shown:';
const KINDS: readonly TakerKind[] = ['desktop', 'browser', 'remote'];

export interface LastShownOptions {
  readonly takers: Pick<Takers, 'list'>;
  readonly storage: Pick<BrowserApi['storage']['session'], 'get' | 'set'>;
  /** Called when a taker answers late, and its answer differs from the one that was shown. */
  readonly onLate: () => void;
  /** Returns the current time, ms. */
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

  /** Returns the takers' downloads, what runs first. */
  async list(kinds: readonly TakerKind[]): Promise<readonly ShownDownload[]> {
    await this.#ready;
    return urgentFirst(await Promise.all(kinds.map((kind) => this.#listOf(kind))));
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
    // Without the stored answer, pages only wait a little longer.
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
