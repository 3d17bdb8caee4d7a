/** Stage of tests about offers of downloads; for Jest only. */

import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from '@jest/globals';
import type { NativeOffer } from '@millrace/shared/bridge/native/native-api';
import type { DownloadRequest } from '@millrace/shared/download/request/request';
import { BrowserPlaces } from '../engine/offers/browser-place.ts';
import { HeldNames } from '../engine/offers/held-names.ts';
import { Offers } from '../engine/offers/offers.ts';
import { SettingStore } from '../engine/store/small-stores.ts';
import { FakeDaemon } from './fake-daemon.ts';

/** Returns the hand-off of an offer. */
export const nameOf = (number: number) =>
  `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
export const FIRST = nameOf(1);

/** Makes an offer of a file that is named by a number. */
export function offerOf(number: number, more: Partial<NativeOffer> = {}): NativeOffer {
  const url = `https://files.example/${number}.iso`;
  return {
    handOff: nameOf(number),
    url,
    finalUrl: url,
    fileName: `${number}.iso`,
    length: 1000,
    etag: '"a"',
    headers: { 'User-Agent': 'Browser/1', Referer: 'https://files.example/' },
    edges: [],
    ...more,
  };
}

/** Matches an error with a code. */
export const code = (code: string) => expect.objectContaining({ code });

/** A daemon with offers, and the user's home folder. */
export class OffersStage {
  daemon!: FakeDaemon;
  offers!: Offers;
  names!: HeldNames;
  /** The user's home folder, with the browser's folder in it. */
  home!: string;
  clock = 0;
  /** Stands in for the origins: rejects if the request does not bring the file. */
  prove: (request: DownloadRequest, signal: AbortSignal) => Promise<void> = async () => {};
  /** Requests that were to be proven. */
  readonly asked: DownloadRequest[] = [];

  /** Returns a stage that is set up anew for each test of a file. */
  static forEachTest(): OffersStage {
    const stage = new OffersStage();
    beforeEach(() => stage.#set());
    afterEach(() => stage.#clear());
    return stage;
  }

  /** Stops the daemon and starts it again. */
  async reopen(): Promise<void> {
    await this.names.close();
    await this.daemon.shut();
    this.daemon.open();
    this.#open();
  }

  #set(): void {
    this.daemon = new FakeDaemon();
    this.home = realpathSync(mkdtempSync(join(tmpdir(), 'millrace-home-')));
    mkdirSync(join(this.home, 'Pictures'));
    this.prove = async () => {};
    this.asked.length = 0;
    this.#open();
  }

  async #clear(): Promise<void> {
    this.offers.close();
    await this.names.close();
    await this.daemon.remove();
    rmSync(this.home, { recursive: true, force: true });
  }

  #open(): void {
    const { daemon, home } = this;
    const { manager } = daemon;
    this.names = new HeldNames(manager, new SettingStore(daemon.db));
    this.names.sweep();
    this.offers = new Offers({
      manager,
      names: this.names,
      places: new BrowserPlaces({
        manager,
        dir: daemon.folder,
        chosen: false,
        state: join(home, 'state'),
        home,
      }),
      prove: (request, _offered, signal) => {
        this.asked.push(request);
        return this.prove(request, signal);
      },
      now: () => daemon.now,
      clock: () => this.clock,
    });
  }
}
