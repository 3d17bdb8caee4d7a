/** Announces the anycast routes of an edge while it is healthy. */

import type { Millis } from '@millrace/shared/base/clock';
import type { Log } from '@millrace/shared/base/log';
import { Announcement, type AnnouncementReason } from '@millrace/shared/cdn/anycast/announcement';
import type { AnycastConfig } from '../config/reach-config.ts';
import { RouteWriter } from './route-writer.ts';
import type { SelfCheck } from './self-check.ts';

/** Pause between two checks of the edge's health. */
const CHECK_EVERY_MS = 1000;
/** Pause before a daemon that could not be told is told again. */
const RETRY_MS = 5000;

/** State of the routes, for status and metrics. */
export interface AnycastState {
  readonly routes: readonly string[];
  /** True if the daemon was told to announce them. */
  readonly announced: boolean;
  readonly reason: AnnouncementReason;
}

export interface AnnouncerOptions {
  readonly config: AnycastConfig;
  readonly log: Log;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
  /** Called with each new state. */
  readonly onState: (state: AnycastState) => void;
}

export class Announcer {
  readonly #options: AnnouncerOptions;
  readonly #writer: RouteWriter;
  readonly #announcement: Announcement;
  #check: SelfCheck | undefined;
  #takesClients = false;
  /** Whether the daemon was told to announce; undefined: the last attempt to tell it has failed. */
  #told: boolean | undefined;
  #failedAt: Millis = Number.NEGATIVE_INFINITY;
  #shown = '';
  #timer: NodeJS.Timeout | undefined;

  constructor(options: AnnouncerOptions) {
    this.#options = options;
    this.#writer = new RouteWriter(options.config, options.log);
    this.#announcement = new Announcement(options.config);
  }

  /**
   * Withdraws the routes: an earlier run that was killed may have left them announced, and this one
   * does not listen yet. Resolves when the daemon has been told, or cannot be.
   */
  async begin(): Promise<void> {
    await this.#tell();
  }

  /** Begins to check the edge, which listens now. */
  watch(check: SelfCheck): void {
    this.#check = check;
    this.#takesClients = true;
    this.#timer = setInterval(() => void this.#round(), CHECK_EVERY_MS);
    void this.#round();
  }

  /**
   * Sets whether the edge takes clients. Resolves when the daemon has been told, or cannot be: if
   * the edge leaves, that is before it turns anybody away.
   */
  async setTakesClients(takesClients: boolean): Promise<void> {
    this.#takesClients = takesClients;
    await this.#observe();
  }

  /** Stops the checks. */
  stop(): void {
    clearInterval(this.#timer);
    this.#check?.close();
  }

  async #round(): Promise<void> {
    await this.#check?.ask();
    await this.#observe();
  }

  async #observe(): Promise<void> {
    const state = { takesClients: this.#takesClients, healthy: this.#check?.healthy ?? false };
    const changed = this.#announcement.observe(state, this.#options.now());
    const { announced, reason } = this.#announcement;
    if (changed) {
      const text = announced ? 'announcing the anycast routes' : 'withdrawing the anycast routes';
      this.#options.log.warn({ routes: this.#options.config.routes, reason }, text);
    }
    const again = this.#options.now() - this.#failedAt >= RETRY_MS;
    if (changed || (this.#told === undefined && again)) await this.#tell();
    else this.#show();
  }

  async #tell(): Promise<void> {
    const { announced } = this.#announcement;
    const told = await this.#writer.write(announced);
    this.#told = told ? announced : undefined;
    if (!told) this.#failedAt = this.#options.now();
    this.#show();
  }

  #show(): void {
    const { reason } = this.#announcement;
    const announced = this.#told ?? false;
    const state = { routes: this.#options.config.routes, announced, reason };
    const shown = JSON.stringify(state);
    if (shown === this.#shown) return;
    this.#shown = shown;
    this.#options.onState(state);
  }
}
