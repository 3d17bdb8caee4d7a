/**
 * Carries out hand-offs: stores their states, carries out the machine's orders, and reports the
 * results to it. All decisions are the machine's.
 */

import { type Offer, TakerError, type TakerKind, type TakerProblem } from '../contract/taker.ts';
import type { Action, Discarded, HandOff, HandOffEvent, Step } from './hand-off.ts';
import { begin, keptFile, step } from './machine.ts';
import type { Ports } from './ports.ts';

interface Running {
  handOff: HandOff;
  /** State that was stored last. */
  saved: HandOff | undefined;
  /** Resolves when the last queued event is handled; events are handled one after the other. */
  last: Promise<void>;
  /** Aborts the offer under way. */
  proof: AbortController | undefined;
}

export class HandOffs {
  readonly #ports: Ports;
  readonly #running = new Map<string, Running>();

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  /** Ids of the browser's downloads that are being handed over: no other part should touch them. */
  get downloads(): readonly number[] {
    return [...this.#running.values()].map(({ handOff }) => handOff.download.id);
  }

  /** Continues the hand-offs of an earlier background; to be called once, before all else. */
  async restart(): Promise<void> {
    for (const handOff of await this.#ports.store.load()) {
      if (this.#running.has(handOff.id)) continue;
      this.#add(handOff, handOff);
      this.#tell(handOff.id, { type: 'restart' });
    }
  }

  /**
   * Begins a hand-off. The browser's download continues meanwhile: a paused download would stay
   * paused if the background is stopped, and for good if the extension is disabled; and Firefox
   * closes the connection of a paused download.
   *
   * @param takers takers to ask, in order, one or more
   * @param pauses true for the behaviour of an earlier version
   */
  async begin(
    offer: Offer,
    download: HandOff['download'],
    takers: readonly TakerKind[],
    pauses = false,
  ): Promise<void> {
    const { clock, store } = this.#ports;
    await store.putOffer(offer);
    const first = begin({ id: offer.handOff, download, takers, pauses }, clock.now());
    const handOff = first.next as HandOff;
    this.#add(handOff, undefined);
    this.#queue(handOff.id, () => first);
  }

  /** Handles the browser's report that one of its downloads has changed, or is gone. */
  async changed(downloadId: number): Promise<void> {
    for (const { handOff } of this.#running.values()) {
      if (handOff.download.id !== downloadId) continue;
      try {
        const download = await this.#ports.browser.look(handOff.download);
        this.#tell(handOff.id, { type: 'changed', download });
      } catch {
        // The download is looked at again before its state matters.
      }
    }
  }

  tick(): void {
    for (const id of this.#running.keys()) this.#tell(id, { type: 'tick' });
  }

  #add(handOff: HandOff, saved: HandOff | undefined): void {
    const last = Promise.resolve();
    this.#running.set(handOff.id, { handOff, saved, last, proof: undefined });
  }

  #tell(id: string, event: HandOffEvent): void {
    this.#queue(id, (handOff) => step(handOff, event, this.#ports.clock.now()));
  }

  #queue(id: string, advance: (handOff: HandOff) => Step): void {
    const running = this.#running.get(id);
    if (running === undefined) return;
    running.last = running.last.then(async () => {
      // The hand-off may have ended meanwhile.
      if (this.#running.get(id) === running) await this.#take(running, advance(running.handOff));
    });
  }

  /** Stores a step, then begins to carry it out. */
  async #take(running: Running, { next, actions }: Step): Promise<void> {
    const before = running.handOff;
    const saved = next === running.saved || (await this.#save(running, next));
    if (next === undefined) {
      this.#running.delete(before.id);
      running.proof?.abort();
      this.#ports.onOver(before, before.phase === 'ending' || before.phase === 'removing');
    } else {
      running.handOff = next;
      if (next.phase !== 'offering') running.proof?.abort();
    }
    this.#wake();
    if (saved) void this.#do(running, before, actions);
    else this.#tell(before.id, { type: 'unsaved' });
  }

  async #save(running: Running, next: HandOff | undefined): Promise<boolean> {
    try {
      if (next === undefined) await this.#ports.store.remove(running.handOff.id);
      else await this.#ports.store.put(next);
      running.saved = next;
      return true;
    } catch {
      // Only steps that could lose something must be stored first. Repeating other steps is
      // harmless.
      return next?.phase !== 'pausing' && next?.phase !== 'committing';
    }
  }

  #wake(): void {
    const due = [...this.#running.values()].map(({ handOff }) => handOff.dueAt);
    this.#ports.clock.wakeAt(due.length === 0 ? undefined : Math.min(...due));
  }

  async #do(running: Running, before: HandOff, actions: readonly Action[]): Promise<void> {
    for (const action of actions) {
      const event = await this.#act(action, running).catch(() => undefined);
      if (event !== undefined) this.#tell(before.id, event);
    }
  }

  async #act(action: Action, running: Running): Promise<HandOffEvent | undefined> {
    const { handOff } = running;
    const { browser, takers } = this.#ports;
    const [kind = 'desktop'] = handOff.takers;
    switch (action) {
      case 'pause':
        if (handOff.pauses) await browser.pause(handOff.download);
        return { type: 'seen', download: await browser.look(handOff.download) };
      case 'look':
        return { type: 'seen', download: await browser.look(handOff.download) };
      case 'end':
        await browser.end(handOff.download);
        return { type: 'seen', download: await browser.look(handOff.download) };
      case 'resume':
        return { type: 'resumed', done: await succeeds(browser.resume(handOff.download)) };
      case 'offer':
        return this.#offer(running, kind);
      case 'commit':
        return takers
          .get(kind)
          .commit(handOff.id)
          .then(
            (takenAs) => ({ type: 'committed', takenAs }),
            (error) => ({ type: 'not-committed', problem: problemOf(error) }),
          );
      case 'ask':
        return takers
          .get(kind)
          .stateOf(handOff.id)
          .then(
            (state) => ({ type: 'told', state }),
            () => ({ type: 'told', state: undefined }),
          );
      case 'withdraw':
        await takers.get(kind).withdraw(handOff.id);
        return undefined;
      case 'discard':
        return this.#discard(handOff, kind).then(
          (outcome) => ({ type: 'discarded', outcome }),
          () => ({ type: 'discarded', outcome: undefined }),
        );
      case 'remove':
        await browser.remove(handOff.download);
        return { type: 'seen', download: await browser.look(handOff.download) };
    }
  }

  async #discard(handOff: HandOff, kind: TakerKind): Promise<Discarded> {
    const { browser, takers } = this.#ports;
    const kept = keptFile(handOff, await browser.look(handOff.download));
    return takers.discard(kind, handOff.takenAs ?? '', kept);
  }

  /** Offers the download to a taker. @returns undefined if the outcome no longer matters */
  async #offer(running: Running, kind: TakerKind): Promise<HandOffEvent | undefined> {
    const { id } = running.handOff;
    const proof = new AbortController();
    running.proof?.abort();
    running.proof = proof;
    const offer = await this.#ports.store.offer(id).catch(() => undefined);
    if (offer === undefined) return { type: 'not-proven', problem: 'failed' };
    try {
      await this.#ports.takers.get(kind).offer(offer, proof.signal);
      return running.proof === proof ? { type: 'proven' } : undefined;
    } catch (error) {
      if (running.proof !== proof) return undefined;
      return { type: 'not-proven', problem: problemOf(error) };
    }
  }
}

function problemOf(error: unknown): TakerProblem {
  return error instanceof TakerError ? error.problem : 'lost';
}

function succeeds(promise: Promise<unknown>): Promise<boolean> {
  return promise.then(
    () => true,
    () => false,
  );
}
