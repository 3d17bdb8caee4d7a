/** Answers the browser extension: passes requests on to the daemon, and decides nothing. */

import { asMillraceError, isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import type { MethodName, ParamsOf, ResultOf } from '@millrace/shared/bridge/contract/contract';
import {
  NATIVE_VERSION,
  type NativeCalls,
  type NativeFailure,
  type NativeMessage,
  type NativeRequest,
  type NativeType,
} from '@millrace/shared/bridge/native/native-api';
import { nativeIdOf, parseNativeRequest } from '@millrace/shared/bridge/native/native-request';
import { LISTED } from '@millrace/shared/bridge/native/shown-download';
import { usableEdges } from '@millrace/shared/download/request/edge-use';
import type { EngineLink } from './engine-link.ts';
import { openFile, showFile } from './finished-file.ts';
import { isSameFile } from './same-file.ts';
import { shownDownloads } from './shown-downloads.ts';

export interface HostOptions {
  readonly engine: Pick<EngineLink, 'call' | 'callAlone' | 'watch'>;
  /** Opens the app's window, or its page. */
  readonly openApp: () => Promise<void>;
}

/** Most offers that are proven at a time: each has a separate connection. */
const MAX_PROVING = 16;

type Answers = {
  readonly [T in NativeType]: (
    params: NativeCalls[T]['params'],
  ) => Promise<NativeCalls[T]['result']>;
};

export class NativeHost {
  readonly #options: HostOptions;
  #greeted = false;
  #proving = 0;

  constructor(options: HostOptions) {
    this.#options = options;
  }

  /** Answers any message; never rejects. */
  async answer(message: unknown): Promise<NativeMessage> {
    const id = nativeIdOf(message);
    try {
      const request = parseNativeRequest(message);
      this.#checkGreeting(request);
      const answer = this.#answers[request.type] as (params: NativeRequest) => Promise<object>;
      return { id, result: await answer(request) };
    } catch (error) {
      return { id, error: failureOf(error) };
    }
  }

  #checkGreeting(request: NativeRequest): void {
    if (request.type === 'hello') {
      if (request.version !== NATIVE_VERSION) {
        throw new MillraceError('bad-option', `version: ${NATIVE_VERSION} is the one known here`);
      }
      this.#greeted = true;
    } else if (!this.#greeted) throw new MillraceError('wrong-state', 'hello comes first');
  }

  readonly #answers: Answers = {
    hello: async () => {
      const { version } = await this.#call('millrace.info', {}, true);
      return { version: NATIVE_VERSION, engine: version };
    },
    offer: async (params) => {
      if (this.#proving >= MAX_PROVING) {
        throw new MillraceError('queue-full', `${MAX_PROVING} offers at a time`);
      }
      this.#proving++;
      try {
        const { id: _id, type: _type, ...offer } = params as NativeRequest & { type: 'offer' };
        await this.#options.engine.callAlone('millrace.offer', offer);
        return {};
      } finally {
        this.#proving--;
      }
    },
    commit: ({ handOff }) => this.#call('millrace.commitOffer', { handOff }, true),
    withdraw: ({ handOff }) => this.#do('millrace.withdrawOffer', { handOff }),
    discard: ({ gid, kept }) => this.#discard(gid, kept),
    offerState: ({ handOff }) => this.#call('millrace.offerState', { handOff }, true),
    list: async ({ limit }) => {
      const query = { status: LISTED, sort: 'urgent', limit } as const;
      const { downloads } = await this.#call('millrace.list', query, true);
      return { downloads: shownDownloads(downloads) };
    },
    watch: async ({ on }) => {
      await this.#options.engine.watch(on);
      return {};
    },
    command: async ({ gid, command }) => {
      await this.#command(gid, command);
      return {};
    },
    add: ({ links }) => this.#add(links),
    openApp: async () => {
      await this.#options.openApp();
      return {};
    },
  };

  /** Removes a download with its file. One that was there before the hand-over only stops. */
  async #discard(gid: string, kept: string | undefined): Promise<Record<string, never>> {
    // The user did not remove the download, so nothing of it goes to the trash.
    const what = { gids: [gid], forget: true, now: true };
    try {
      const { status, path, renewedAt } = await this.#call('millrace.status', { gid }, true);
      const isComplete = status === 'complete';
      if (renewedAt !== undefined && !isComplete) {
        return await this.#do('millrace.pause', { gids: [gid] });
      }
      if (
        isComplete &&
        kept !== undefined &&
        path !== undefined &&
        (await isSameFile(path, kept))
      ) {
        return await this.#do('millrace.remove', what);
      }
      return await this.#do('millrace.remove', { ...what, deleteFile: true });
    } catch (error) {
      if (isMillraceError(error, 'no-such-download')) return {};
      if (!isMillraceError(error, 'wrong-state')) throw error;
      // A file that has taken the place of the download's belongs to another program.
      return this.#do('millrace.remove', what);
    }
  }

  async #command(gid: string, command: NativeCalls['command']['params']['command']): Promise<void> {
    const view = await this.#call('millrace.status', { gid }, true);
    if (command === 'open') return openFile(view);
    if (command === 'show') return showFile(view);
    const gids = [gid];
    if (command === 'remove') await this.#do('millrace.remove', { gids, forget: true });
    else if (command === 'pause') await this.#do('millrace.pause', { gids });
    // A user who resumes a failed download wants it to be tried again.
    else await this.#do(view.status === 'error' ? 'millrace.retry' : 'millrace.resume', { gids });
  }

  async #add(links: NativeCalls['add']['params']['links']): Promise<NativeCalls['add']['result']> {
    const downloads = links.map(({ url, fileName, headers, edges }) => ({
      urls: [url],
      file: fileName,
      headers,
      edges: usableEdges(
        [{ url, headers }],
        edges.map((edge) => ({ url: edge })),
      ),
      rename: true,
    }));
    const { gids, failed } = await this.#call('millrace.addMany', { downloads }, false);
    const lost = new Set(failed.map(({ index }) => index));
    const added = gids.values();
    return { gids: links.map((_, i) => (lost.has(i) ? null : (added.next().value ?? null))) };
  }

  /** Calls the daemon. @param again true if calling twice has the effect of calling once */
  #call<M extends MethodName>(
    method: M,
    params: ParamsOf<M>,
    again: boolean,
  ): Promise<ResultOf<M>> {
    return this.#options.engine.call(method, params, again);
  }

  async #do<M extends MethodName>(method: M, params: ParamsOf<M>): Promise<Record<string, never>> {
    await this.#call(method, params, true);
    return {};
  }
}

export function failureOf(error: unknown): NativeFailure {
  const { code, message, detail } = asMillraceError(error);
  return { code, message, detail };
}
