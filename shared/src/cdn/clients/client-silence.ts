/**
 * Decides which watched clients have vanished: by the silence of each (`vanished-client.ts`), by how
 * long live clients are silent (`answered-timeouts.ts`), and by the line that each is on
 * (`crowded-lines.ts`).
 */

import type { Millis } from '../../base/clock.ts';
import { AnsweredTimeouts } from './answered-timeouts.ts';
import { CrowdedLines } from './crowded-lines.ts';
import { type TcpState, UNANSWERED_TIMEOUTS, VanishedClientDetector } from './vanished-client.ts';

/** Silence of a vanished client, however full its line is. */
export const LONGEST_SILENCE_MS = 60_000;

/** A watched client. */
export class SilentClient {
  /** Network that the client is in. */
  readonly line: string;
  readonly detector = new VanishedClientDetector();
  /** Most timeouts in a row after which the client has answered. */
  answeredLate = 0;
  /** Most timeouts that it had to leave unanswered at any time of the present silence. */
  needed = UNANSWERED_TIMEOUTS;

  constructor(line: string) {
    this.line = line;
  }

  /** True while the client has left a timeout unanswered. */
  get isSilent(): boolean {
    return this.detector.unanswered > 0;
  }
}

export class ClientSilence {
  readonly #experience = new AnsweredTimeouts();
  readonly #lines = new CrowdedLines();
  #clients = 0;

  /** Watches a client. @param line the network that it is in */
  watch(line: string): SilentClient {
    this.#lines.enter(line);
    this.#clients++;
    return new SilentClient(line);
  }

  /** Ends the watch of a client; called once. */
  unwatch({ line }: SilentClient): void {
    this.#lines.leave(line);
    this.#clients--;
  }

  /**
   * Judges the present state of a client's connection.
   *
   * @param state undefined if it is unknown, from which nothing follows
   * @param outstanding false while the client has nothing to acknowledge
   * @param now monotonic
   * @returns true if the client has vanished
   */
  observe(
    client: SilentClient,
    state: TcpState | undefined,
    outstanding: boolean,
    now: Millis,
  ): boolean {
    const { detector, line } = client;
    if (state !== undefined && outstanding) this.#lines.onAck(line, now - state.lastAckMs);
    const needed = this.#needed(client, now);
    const isLong = state !== undefined && state.lastAckMs >= LONGEST_SILENCE_MS;
    const most = isLong ? Math.min(needed, UNANSWERED_TIMEOUTS) : needed;
    const hasVanished = detector.observe(state, outstanding, now, most);
    if (detector.answeredLate > 0) {
      this.#experience.onAnswered(detector.answeredLate, now);
      this.#lines.onLate(line, detector.answeredLate, now);
      client.answeredLate = Math.max(client.answeredLate, detector.answeredLate);
    }
    return hasVanished;
  }

  #needed(client: SilentClient, now: Millis): number {
    const { line, detector, answeredLate } = client;
    if (this.#lines.isCut(line, now)) {
      client.needed = UNANSWERED_TIMEOUTS;
      return client.needed;
    }
    const usual = this.#experience.needed(this.#clients, answeredLate, now);
    const needed = Math.max(usual, this.#lines.needed(line, now));
    // The timeouts of a line that was full a moment ago are still long.
    client.needed = detector.unanswered > 0 ? Math.max(client.needed, needed) : needed;
    return client.needed;
  }
}
