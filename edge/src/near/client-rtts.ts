/**
 * Reads the round trips of clients from the kernel, which measures them on every connection: nothing
 * is sent for it, and the client cannot make itself look nearer than it is.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Millis } from '@millrace/shared/base/clock';
import type { NetworkRtts } from '@millrace/shared/cdn/near/network-rtts';
import type { ClientAddress } from '@millrace/shared/node/clients/client-address';
import { networkKey } from '@millrace/shared/node/clients/client-key';
import { connectionOf } from '../clients/connection.ts';
import type { ReadTcpInfo } from '../clients/tcp-info.ts';

export interface ClientRttsOptions {
  /** Undefined if the kernel cannot be asked: then nothing is measured. */
  readonly readTcpInfo: ReadTcpInfo | undefined;
  readonly rtts: NetworkRtts;
  readonly clientAddress: Pick<ClientAddress, 'isProxy'>;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
}

/** Time after which a connection that stays open is measured again. */
const AGAIN_MS = 30_000;

export class ClientRtts {
  readonly #options: ClientRttsOptions;
  readonly #measuredAt = new WeakMap<Socket, Millis>();

  constructor(options: ClientRttsOptions) {
    this.#options = options;
  }

  /**
   * Measures the client of a request, unless its connection has been measured lately.
   *
   * @param client its address. Behind a reverse proxy nothing is measured: the connection is the
   *   proxy's
   */
  measure(req: IncomingMessage, res: ServerResponse, client: string): void {
    const { readTcpInfo, rtts, clientAddress, now } = this.#options;
    if (readTcpInfo === undefined) return;
    const socket = connectionOf(req, res);
    const at = this.#measuredAt.get(socket);
    if (at !== undefined && now() - at < AGAIN_MS) return;
    this.#measuredAt.set(socket, now());
    if (clientAddress.isProxy(socket.remoteAddress ?? '')) return;
    const network = networkKey(client);
    const rttMs = readTcpInfo(socket)?.rttMs;
    if (network !== undefined && rttMs !== undefined) rtts.onMeasured(network, rttMs, now());
  }
}
