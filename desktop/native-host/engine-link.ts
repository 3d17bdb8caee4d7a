/**
 * The host's connection to the daemon: opened when needed, and again after the daemon has ended.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { isMillraceError } from '@millrace/shared/base/errors';
import type {
  MethodName,
  ParamsIf,
  ParamsOf,
  ResultOf,
} from '@millrace/shared/bridge/contract/contract';
import { ON_UPDATE } from '@millrace/shared/bridge/rpc/live-api';
import { DaemonLink } from '../client/daemon-link.ts';

export interface EngineLinkOptions {
  /** State folder. */
  readonly state: string;
  /** Starts a daemon, and returns when it can be reached. */
  readonly start: () => Promise<unknown>;
  /** Called when something has changed, while changes are watched: at most four times a second. */
  readonly onChanged: () => void;
  /** Called when the daemon has ended. */
  readonly onEnded: () => void;
}

/** Interval, ms, at which the host looks for a daemon started by others. */
const LOOK_AGAIN_MS = 1000;

export class EngineLink {
  readonly #options: EngineLinkOptions;
  readonly #closing = new AbortController();
  #link: Promise<DaemonLink> | undefined;
  #watching = false;
  #looking = false;

  constructor(options: EngineLinkOptions) {
    this.#options = options;
  }

  /**
   * Calls a method of the contract; starts a daemon where none runs.
   *
   * @param again true if the call may be made twice: it is repeated where the connection has just
   * ended
   * @throws MillraceError the daemon's error; `daemon-not-running` if the daemon ends meanwhile
   */
  async call<M extends MethodName>(
    method: M,
    params: ParamsOf<M>,
    again: boolean,
  ): Promise<ResultOf<M>> {
    const given = [params] as unknown as ParamsIf<M>;
    const link = this.#open();
    try {
      return await (await link).call(method, ...given);
    } catch (error) {
      if (!isMillraceError(error, 'daemon-not-running')) throw error;
      // The link may not have noticed yet that the connection has ended.
      if (this.#link === link) this.#link = undefined;
      if (!again) throw error;
    }
    return (await this.#open()).call(method, ...given);
  }

  /**
   * Calls as `call` does, but on a separate connection: the daemon serves the calls of each
   * connection one at a time.
   */
  async callAlone<M extends MethodName>(method: M, params: ParamsOf<M>): Promise<ResultOf<M>> {
    const given = [params] as unknown as ParamsIf<M>;
    const link = await DaemonLink.openOrStart(this.#options.state, this.#options.start);
    const close = () => link.close();
    this.#closing.signal.addEventListener('abort', close, { once: true });
    try {
      return await link.call(method, ...given);
    } finally {
      this.#closing.signal.removeEventListener('abort', close);
      close();
    }
  }

  async watch(on: boolean): Promise<void> {
    this.#watching = on;
    // Do not start a daemon only to stop watching it.
    if (!on && this.#link === undefined) return;
    await this.call(on ? 'millrace.watch' : 'millrace.unwatch', {}, true);
  }

  close(): void {
    this.#closing.abort();
    void this.#link?.then(
      (link) => link.close(),
      () => {},
    );
  }

  #open(): Promise<DaemonLink> {
    this.#link ??= this.#adopt(DaemonLink.openOrStart(this.#options.state, this.#options.start));
    return this.#link;
  }

  #adopt(opening: Promise<DaemonLink>): Promise<DaemonLink> {
    const adopted = opening.then(async (link) => {
      link.onNotification((method) => {
        if (method === ON_UPDATE && this.#watching) this.#options.onChanged();
      });
      void link.closed.then(() => this.#onClosed(adopted));
      if (this.#closing.signal.aborted) link.close();
      if (this.#watching) await link.call('millrace.watch');
      return link;
    });
    adopted.catch(() => {
      if (this.#link === adopted) this.#link = undefined;
    });
    return adopted;
  }

  #onClosed(link: Promise<DaemonLink>): void {
    if (this.#link === link) this.#link = undefined;
    if (this.#closing.signal.aborted) return;
    this.#options.onEnded();
    void this.#lookForAnother();
  }

  /** Looks for a daemon that others start, while changes are watched; starts none itself. */
  async #lookForAnother(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    try {
      const { signal } = this.#closing;
      while (this.#watching && !signal.aborted && this.#link === undefined) {
        await sleep(LOOK_AGAIN_MS, undefined, { signal });
        if (this.#link !== undefined) break;
        const link = this.#adopt(DaemonLink.open(this.#options.state));
        this.#link = link;
        await link.catch(() => {});
      }
    } catch {
      return; // the link is being closed
    } finally {
      this.#looking = false;
    }
    if (this.#watching && this.#link !== undefined) {
      this.#link.then(
        () => this.#options.onChanged(),
        () => void this.#lookForAnother(),
      );
    }
  }
}
