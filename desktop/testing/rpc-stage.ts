/** A daemon in this process and a client of its RPC. Streams are only counted. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DownloadView } from '@millrace/shared/bridge/rpc/daemon-api';
import { type Answer, agreed } from '@millrace/shared/testing/agreed';
import { findDaemon, RpcClient } from '../client/rpc-client.ts';
import { type Daemon, startDaemon } from '../engine/daemon/daemon.ts';
import type { ServeStream } from '../engine/downloads/streams.ts';
import type { DownloadFactory } from '../engine/queue/contract.ts';
import { createLastingDownload } from './lasting-download.ts';

export class RpcStage {
  /** State folder of the daemon, and its download folder. */
  state!: string;
  daemon!: Daemon;
  client!: RpcClient;
  closedStreams = 0;
  /** Number of streams so far, which makes each stream's URL unique. */
  #streams = 0;
  readonly #createDownload: DownloadFactory;

  /** @param createDownload default: makes downloads that neither end nor touch the network */
  constructor(createDownload: DownloadFactory = createLastingDownload) {
    this.#createDownload = createDownload;
  }

  /** Starts a daemon with an empty state folder, and connects the client. */
  async begin(): Promise<void> {
    this.state = mkdtempSync(join(tmpdir(), 'millrace-test-'));
    this.closedStreams = 0;
    this.daemon = await startDaemon({
      state: this.state,
      dir: this.state,
      port: 0,
      createDownload: this.#createDownload,
      serveStream: this.#serveStream,
    });
    this.client = await RpcClient.connect(await findDaemon(this.state));
  }

  async end(): Promise<void> {
    this.client.close();
    await this.daemon.close();
    rmSync(this.state, { recursive: true, force: true });
  }

  /**
   * Calls one of our own methods. The result is checked against the contract, the parameters are
   * not.
   */
  call = async <M extends string>(method: M, params?: object): Promise<Answer<M>> =>
    agreed(method, await this.client.call(method, params));

  /** Calls a method of aria2. */
  aria2 = <T>(method: string, ...params: readonly unknown[]): Promise<T> =>
    this.client.callList<T>(`aria2.${method}`, ...params);

  /** Adds a download as aria2's front ends do. @param path see `createLastingDownload` */
  add = (path: string, options: object = {}): Promise<string> =>
    this.aria2<string>('addUri', [`http://a.example/${path}`], options);

  /** Waits until a download has a state. */
  reaches = async (gid: string, status: string): Promise<DownloadView> => {
    for (;;) {
      const view = await this.call('millrace.status', { gid });
      if (view.status === status && (status !== 'active' || view.path !== undefined)) return view;
      await new Promise((resolve) => setImmediate(resolve));
    }
  };

  readonly #serveStream: ServeStream = async () => ({
    url: `http://127.0.0.1/${++this.#streams}`,
    readers: 0,
    close: async () => {
      this.closedStreams++;
    },
  });
}

/** Returns the gids of listed downloads. */
export const gidsOf = (list: readonly { gid: string }[]) => list.map(({ gid }) => gid);
