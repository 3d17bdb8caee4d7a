/** The desktop's engine as a taker, over native messaging. */

import { MAX_NATIVE_LINKS, MAX_NATIVE_LIST } from '@millrace/shared/bridge/native/native-request';
import {
  type AddedLink,
  type DownloadCommand,
  type Offer,
  type OfferState,
  type ShownDownload,
  type Taker,
  type TakerDownloads,
  TakerError,
} from '../contract/taker.ts';
import { NativeLink, type NativeLinkOptions } from './native-link.ts';

export class DesktopTaker implements Taker, TakerDownloads {
  readonly kind = 'desktop';
  readonly link: NativeLink;
  readonly #listeners = new Set<() => void>();

  constructor(options: Omit<NativeLinkOptions, 'onChanged'>) {
    const onChanged = () => {
      for (const listener of [...this.#listeners]) listener();
    };
    this.link = new NativeLink({ ...options, onChanged });
  }

  async offer(offer: Offer, signal: AbortSignal): Promise<void> {
    const { handOff } = offer;
    if (signal.aborted) throw new TakerError('failed', 'The offer was given up');
    const onAbort = () => void this.withdraw(handOff);
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      await this.link.call('offer', offer);
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  async commit(handOff: string): Promise<string> {
    return (await this.link.call('commit', { handOff })).gid;
  }

  async withdraw(handOff: string): Promise<void> {
    await this.link.call('withdraw', { handOff }).catch(() => {});
  }

  async stateOf(handOff: string): Promise<OfferState> {
    const answer = await this.link.call('offerState', { handOff });
    if (answer.state === 'committed') return { state: 'committed', id: answer.gid };
    return { state: answer.state };
  }

  /**
   * Removes a committed download, with its file.
   *
   * @param kept path of a file of the browser, which stays even if it is the download's file
   * @throws TakerError
   */
  async discard(gid: string, kept: string | undefined): Promise<void> {
    await this.link.call('discard', kept === undefined ? { gid } : { gid, kept });
  }

  async list(): Promise<readonly ShownDownload[]> {
    const { downloads } = await this.link.call('list', { limit: MAX_NATIVE_LIST });
    return downloads.map(({ gid, ...rest }) => ({ ...rest, taker: 'desktop', id: gid }));
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async command(id: string, command: DownloadCommand): Promise<void> {
    await this.link.call('command', { gid: id, command });
  }

  async add(links: readonly AddedLink[]): Promise<readonly string[]> {
    const added: string[] = [];
    for (let at = 0; at < links.length; at += MAX_NATIVE_LINKS) {
      const { gids } = await this.link.call('add', {
        links: links.slice(at, at + MAX_NATIVE_LINKS),
      });
      for (const gid of gids) if (gid !== null) added.push(gid);
    }
    return added;
  }

  /** Starts the app in the background, if it does not run, and connects to it. @throws TakerError */
  async start(): Promise<void> {
    await this.link.call('list', { limit: 1 });
  }

  /** Opens the app's window, or its page. @throws TakerError */
  async openApp(): Promise<void> {
    await this.link.call('openApp', {});
  }
}
