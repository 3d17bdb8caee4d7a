/** A connection to the daemon, for commands and the native host. */

import { setTimeout as sleep } from 'node:timers/promises';
import { isErrorCode, isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import type { MethodName, ParamsIf, ResultOf } from '@millrace/shared/bridge/contract/contract';
import { RPC_PATH } from '@millrace/shared/bridge/page/session-api';
import type { FailureData } from '@millrace/shared/bridge/rpc/daemon-api';
import { INVALID_PARAMS, METHOD_NOT_FOUND, RpcError } from '@millrace/shared/bridge/rpc/json-rpc';
import { UNAUTHORIZED } from '../engine/rpc/calls/rpc-error.ts';
import { runningDaemon } from '../local/daemon-address.ts';
import { remoteToken } from '../local/known-remotes.ts';
import { RpcClient } from './rpc-client.ts';

const CONNECT_TIMEOUT_MS = 10_000;

export class DaemonLink {
  readonly #client: RpcClient;
  /** Origin of the other machine's daemon, if it is one. */
  readonly #remote: string | undefined;

  private constructor(client: RpcClient, remote?: string) {
    this.#client = client;
    this.#remote = remote;
  }

  /** Connects to the daemon. @throws MillraceError `daemon-not-running`, `daemon-silent` */
  static async open(state: string): Promise<DaemonLink> {
    const at = await runningDaemon(state);
    if (at === undefined) throw new MillraceError('daemon-not-running');
    try {
      return new DaemonLink(await inTime(RpcClient.connect(at), CONNECT_TIMEOUT_MS));
    } catch (cause) {
      if (isMillraceError(cause, 'daemon-silent')) throw cause;
      // The daemon was killed and has left its address behind.
      throw new MillraceError('daemon-not-running', `nothing answers at ${at.url}`, { cause });
    }
  }

  /**
   * Connects to the daemon of another machine, with which this one has been paired.
   *
   * @param state folder with this machine's tokens
   * @param origin such as https://nas.example
   * @throws MillraceError `not-paired`, `remote-unreachable`
   */
  static async openRemote(state: string, origin: string): Promise<DaemonLink> {
    const token = await remoteToken(state, origin);
    if (token === undefined) throw new MillraceError('not-paired', origin);
    const ws = `${origin.replace(/^https:/, 'wss:')}${RPC_PATH}`;
    try {
      const client = await inTime(RpcClient.connect({ ws, token }), CONNECT_TIMEOUT_MS);
      return new DaemonLink(client, origin);
    } catch (cause) {
      const why = isMillraceError(cause, 'daemon-not-running') ? cause.detail : '';
      const detail = why === '' || why === ws ? origin : `${origin}: ${why}`;
      throw new MillraceError('remote-unreachable', detail, { cause });
    }
  }

  /**
   * Connects as `open` does, and starts a daemon if none runs.
   *
   * @param start returns when the daemon can be reached
   */
  static async openOrStart(state: string, start: () => Promise<unknown>): Promise<DaemonLink> {
    try {
      return await DaemonLink.open(state);
    } catch (error) {
      if (!isMillraceError(error, 'daemon-not-running')) throw error;
      await start();
      return DaemonLink.open(state);
    }
  }

  /** Resolves when the connection has ended. */
  get closed(): Promise<void> {
    return this.#client.closed;
  }

  /**
   * Calls a method of the contract.
   *
   * @throws MillraceError the daemon's error; `daemon-silent` without an answer in half a minute
   */
  async call<M extends MethodName>(method: M, ...params: ParamsIf<M>): Promise<ResultOf<M>> {
    try {
      return await this.#client.call<ResultOf<M>>(method, params[0] ?? {});
    } catch (error) {
      throw asTableError(error, this.#remote);
    }
  }

  onNotification(listener: (method: string, params: readonly unknown[]) => void): void {
    this.#client.onNotification(listener);
  }

  close(): void {
    this.#client.close();
  }
}

/** Returns the daemon's error as an error of the table. */
function asTableError(error: unknown, remote: string | undefined): unknown {
  if (!(error instanceof RpcError)) return error;
  // The token was revoked there.
  if (remote !== undefined && error.message === UNAUTHORIZED.message) {
    return new MillraceError('not-paired', remote, { cause: error });
  }
  const data = error.data as Partial<FailureData> | undefined;
  if (data !== undefined && isErrorCode(data.code)) {
    return new MillraceError(data.code, data.detail ?? '', {
      cause: error,
      particulars: data.particulars,
    });
  }
  const ours = error.code === INVALID_PARAMS.code || error.code === METHOD_NOT_FOUND.code;
  const detail = error.message.replace(/\.$/, '');
  return new MillraceError(ours ? 'bad-option' : 'internal', detail, { cause: error });
}

async function inTime<T>(promise: Promise<T>, ms: number): Promise<T> {
  const controller = new AbortController();
  const late = sleep(ms, undefined, { signal: controller.signal }).then(() => {
    throw new MillraceError('daemon-silent');
  });
  late.catch(() => {}); // Rejects when it is aborted, because the answer came in time.
  promise.catch(() => {}); // May reject after the time limit, when nobody waits for it any more.
  try {
    return await Promise.race([promise, late]);
  } finally {
    controller.abort();
  }
}
