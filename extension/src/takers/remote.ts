/**
 * A daemon on another machine as a taker. It proves, commits and remembers offers as the desktop's
 * engine does; its files are on the other machine.
 */

import type { MethodName, ParamsOf } from '@millrace/shared/bridge/contract/contract';
import { parseNativeResult } from '@millrace/shared/bridge/native/native-answer';
import type { NativeCalls, NativeType } from '@millrace/shared/bridge/native/native-api';
import { MAX_NATIVE_LINKS, MAX_NATIVE_LIST } from '@millrace/shared/bridge/native/native-request';
import { LISTED, shownDownload } from '@millrace/shared/bridge/native/shown-download';
import type { DownloadView } from '@millrace/shared/bridge/rpc/daemon-api';
import { isObject } from '@millrace/shared/bridge/rpc/json-rpc';
import { usableEdges } from '@millrace/shared/download/request/edge-use';
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
import { RemoteLink, type RemoteLinkOptions } from './remote-link.ts';

export class RemoteTaker implements Taker, TakerDownloads {
  readonly kind = 'remote';
  readonly link: RemoteLink;

  constructor(options: RemoteLinkOptions) {
    this.link = new RemoteLink(options);
  }

  async offer(offer: Offer, signal: AbortSignal): Promise<void> {
    if (signal.aborted) throw new TakerError('failed', 'The offer was given up');
    const onAbort = () => void this.withdraw(offer.handOff);
    signal.addEventListener('abort', onAbort, { once: true });
    // The browser's place for the file, and who has named which edge, mean nothing there.
    const { path: _path, published: _published, ...asked } = offer;
    try {
      // An offer without an answer is harmless: it lapses unless it is committed.
      await this.link.call('millrace.offer', asked, { signal, sure: true });
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  async commit(handOff: string): Promise<string> {
    const result = await this.link.call('millrace.commitOffer', { handOff });
    return read('commit', result).gid;
  }

  async withdraw(handOff: string): Promise<void> {
    await this.link.call('millrace.withdrawOffer', { handOff }).catch(() => {});
  }

  async stateOf(handOff: string): Promise<OfferState> {
    const result = await this.link.call('millrace.offerState', { handOff });
    const answer = read('offerState', result);
    if (answer.state === 'committed') return { state: 'committed', id: answer.gid };
    return { state: answer.state };
  }

  /**
   * Removes a committed download with its file, which is never the browser's own.
   *
   * @throws TakerError
   */
  async discard(gid: string): Promise<void> {
    // The user did not remove the download, so nothing of it goes to the trash.
    const what = { gids: [gid], forget: true, now: true };
    try {
      const view = await this.link.call('millrace.status', { gid }, { sure: true });
      if (isObject(view) && view.renewedAt !== undefined && view.status !== 'complete') {
        // The download was there before the hand-over: its bytes stay.
        await this.link.call('millrace.pause', { gids: [gid] });
        return;
      }
      await this.link.call('millrace.remove', { ...what, deleteFile: true });
    } catch (error) {
      if (hasCode(error, 'no-such-download')) return;
      if (!hasCode(error, 'wrong-state')) throw error;
      // A file that has taken the place of the download's belongs to another program.
      await this.link.call('millrace.remove', what);
    }
  }

  async list(): Promise<readonly ShownDownload[]> {
    const limit = MAX_NATIVE_LIST;
    const query = { status: LISTED, sort: 'urgent', limit } as const;
    const page = await this.link
      .call('millrace.list', query, { sure: true })
      .catch((error: unknown) => {
        // An older daemon does not know this order.
        if (!hasCode(error, 'bad-option')) throw error;
        const older = { ...query, sort: 'added', descending: true } as const;
        return this.link.call('millrace.list', older, { sure: true });
      });
    const views = isObject(page) && Array.isArray(page.downloads) ? page.downloads : [];
    const { downloads } = read('list', { downloads: shownIn(views) });
    return downloads.map(({ gid, ...rest }) => ({ ...rest, taker: 'remote', id: gid }));
  }

  /** The background asks again by itself: no connection to the other machine stays open. */
  onChange(_listener: () => void): () => void {
    return () => {};
  }

  async command(gid: string, command: DownloadCommand): Promise<void> {
    const gids = [gid];
    if (command === 'open' || command === 'show') {
      throw new TakerError('refused', 'The file is on the other machine', 'not-remote');
    }
    if (command === 'remove') return this.#do('millrace.remove', { gids, forget: true });
    if (command === 'pause') return this.#do('millrace.pause', { gids });
    const view = await this.link.call('millrace.status', { gid });
    // A user who resumes a failed download wants it to be tried again.
    const failed = isObject(view) && view.status === 'error';
    await this.#do(failed ? 'millrace.retry' : 'millrace.resume', { gids });
  }

  async add(links: readonly AddedLink[]): Promise<readonly string[]> {
    // Adding twice would download twice, so the daemon is asked for a sign of life first.
    await this.check();
    const added: string[] = [];
    for (let at = 0; at < links.length; at += MAX_NATIVE_LINKS) {
      const downloads = links.slice(at, at + MAX_NATIVE_LINKS).map(asRequest);
      const result = await this.link.call('millrace.addMany', { downloads });
      const gids = isObject(result) && Array.isArray(result.gids) ? result.gids : [];
      added.push(...gids.filter((gid) => typeof gid === 'string'));
    }
    return added;
  }

  /** Asks the daemon for a sign of life. @throws TakerError `absent` */
  async check(): Promise<void> {
    await this.link.call('millrace.info', {}, { sure: true });
  }

  async #do<M extends MethodName>(method: M, params: ParamsOf<M>): Promise<void> {
    await this.link.call(method, params);
  }
}

/** Reads a result of which the native host passes on the same. @throws TakerError `lost` */
function read<T extends NativeType>(type: T, result: unknown): NativeCalls[T]['result'] {
  try {
    return parseNativeResult(type, result);
  } catch (error) {
    throw new TakerError('lost', String(error), 'malformed-response');
  }
}

function shownIn(views: readonly DownloadView[]): readonly unknown[] {
  try {
    return views.flatMap((view) => shownDownload(view) ?? []);
  } catch (error) {
    throw new TakerError('lost', String(error), 'malformed-response');
  }
}

function asRequest({ url, fileName, headers, edges }: AddedLink) {
  const offered = edges.map((edge) => ({ url: edge }));
  return {
    urls: [url],
    ...(fileName === undefined ? {} : { file: fileName }),
    headers,
    edges: usableEdges([{ url, headers }], offered),
    rename: true,
  };
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof TakerError && error.code === code;
}
