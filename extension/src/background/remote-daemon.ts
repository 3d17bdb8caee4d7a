/** Pairs this browser with a daemon on another machine, and tells the options about it. */

import { browserName } from '@millrace/shared/remote/browser-name';
import { type PairProblem, type RemoteState, remoteOrigin } from '../contract/remote.ts';
import type { KeptPairing } from '../takers/kept-pairing.ts';
import type { RemoteTaker } from '../takers/remote.ts';
import { type Fetch, pair } from '../takers/remote-link.ts';
import type { KeptSettings } from './kept-settings.ts';

export interface RemoteDaemonParts {
  readonly fetch: Fetch;
  readonly kept: KeptPairing;
  readonly taker: RemoteTaker;
  readonly settings: Pick<KeptSettings, 'now' | 'change'>;
  /** The browser's User-Agent, by which people recognise it in the daemon's list of devices. */
  readonly agent: string;
}

export class RemoteDaemon {
  readonly #p: RemoteDaemonParts;
  #checking: Promise<void> | undefined;

  constructor(parts: RemoteDaemonParts) {
    this.#p = parts;
  }

  /** Returns the paired daemon, and whether it answers now. */
  async state(): Promise<RemoteState> {
    const { kept, taker } = this.#p;
    const url = (await kept.read())?.url;
    if (url === undefined) return { url, problem: undefined };
    // Pages ask often: while an answer is awaited they share it.
    this.#checking ??= taker
      .check()
      .catch(() => {})
      .finally(() => {
        this.#checking = undefined;
      });
    await this.#checking;
    return { url, problem: taker.link.problem };
  }

  /** Pairs with the daemon at an address. @returns the reason why that failed, if it did */
  async pair(typed: string, code: string): Promise<{ readonly problem?: PairProblem }> {
    const url = remoteOrigin(typed);
    if (url === undefined) return { problem: 'unreachable' };
    const name = `Millrace, ${browserName(this.#p.agent)}`;
    const answer = await pair(this.#p.fetch, url, { code, name });
    if ('problem' in answer) return answer;
    await this.#p.kept.keep({ url, token: answer.token });
    this.#p.taker.link.reset();
    return {};
  }

  /** Forgets the daemon; downloads go where they went before anything was chosen. */
  async forget(): Promise<Record<string, never>> {
    const { kept, settings, taker } = this.#p;
    await kept.forget();
    taker.link.reset();
    if (settings.now.taker === 'remote') await settings.change({ taker: 'auto' });
    return {};
  }
}
