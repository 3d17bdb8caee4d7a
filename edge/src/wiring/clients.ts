/** Parts between clients and files: addresses of clients, their limits, and whether they vanish. */

import { NOWHERE } from '@millrace/shared/cdn/figures/download-table';
import type { ClientAddress } from '@millrace/shared/node/clients/client-address';
import { type Amplification, ClientLimits } from '../admission/client-limits.ts';
import { OriginUse } from '../admission/origin-use.ts';
import type { Exchanges } from '../clients/exchanges.ts';
import { ClientReaper } from '../clients/reaper.ts';
import { takenBytes } from '../clients/taken-bytes.ts';
import { openTcpInfo } from '../clients/tcp-info.ts';
import type { Config } from '../config/config.ts';
import type { Figures } from '../figures/dashboard-figures.ts';
import type { Downloads } from '../figures/download-counter.ts';
import { ClientRtts } from '../near/client-rtts.ts';
import type { GeoPlaces } from '../near/geo-places.ts';
import { LocalAccess } from '../policy/local-access.ts';
import type { OriginPolicy } from '../policy/policy.ts';
import { PrefixedHandler } from '../routes/prefixed.ts';
import type { SendFileOptions } from '../routes/send/send-file.ts';
import type { Files } from './files.ts';
import type { NodeContext } from './node-context.ts';
import type { Storage } from './storage.ts';

export interface Clients {
  readonly limits: ClientLimits;
  readonly address: ClientAddress;
  readonly localAccess: LocalAccess | undefined;
  /** Measures the round trips of clients. */
  readonly clientRtts: ClientRtts;
  /** Ends the connections of clients that have vanished. */
  readonly reaper: ClientReaper;
  /** Answers clients' requests for files. */
  readonly prefixed: PrefixedHandler;
  /** Use of origins that rules limit. */
  readonly originUse: OriginUse;
  /** Parts that send a file from chunks. */
  readonly sending: SendFileOptions;
  /** Stops looking for vanished clients. */
  stop(): void;
  /** Writes the use of quotas to the disk. */
  close(): Promise<void>;
}

const RELIEF_INTERVAL_MS = 1000;
const OFFLOAD_INTERVAL_MS = 1000;
const QUOTAS_INTERVAL_MS = 60_000;
/**
 * Chunks that may be fetched for a client and not taken by it: at first, and further ones per
 * second.
 */
const ALLOWANCE_CHUNKS = 256;
const REGAINED_CHUNKS = 1;

/**
 * Opens the parts that serve clients: limits, addresses, the handler of their requests.
 *
 * @param transfers that clients' requests are added to
 * @param figures told of chunks that are sent; undefined without a dashboard
 * @param downloads told of what clients take; undefined without a token
 * @param places gives the countries of clients; undefined without a database
 * @throws Error if a file named in the settings cannot be used
 */
export async function openClients(
  context: NodeContext,
  { spare }: Storage,
  { client, records, chunks, streams, resolver }: Files,
  policy: OriginPolicy,
  transfers: Exchanges,
  figures: Figures | undefined,
  downloads: Downloads | undefined,
  places: GeoPlaces | undefined,
): Promise<Clients> {
  const { config, log, metrics, admissions, account, now, wallClock, rounds } = context;
  const { clientAddress: address } = context;
  const localAccess =
    config.localTokenFile === undefined
      ? undefined
      : await LocalAccess.fromFile(config.localTokenFile);
  const originUse = new OriginUse({
    share: 1 / config.workers,
    wallClock,
    onRefusal: admissions.refused,
  });
  const writeQuotas =
    config.cacheDir === undefined ? undefined : originUse.keepIn(config.cacheDir, log);
  rounds.every(QUOTAS_INTERVAL_MS, () => void writeQuotas?.());
  const tcpInfo = await openTcpInfo();
  if (tcpInfo.reason !== undefined) {
    log.warn({ reason: tcpInfo.reason }, 'vanished clients will only be noticed after minutes');
  }
  const reaper = new ClientReaper({
    readTcpInfo: tcpInfo.read,
    now,
    onReaped: () => metrics.reaped.inc(),
  });
  const clientRtts = new ClientRtts({
    readTcpInfo: tcpInfo.read,
    rtts: context.rtts,
    clientAddress: address,
    now,
  });
  const limits = new ClientLimits({
    transfers: config.clientTransfers,
    requestsPerSecond: config.clientRequests,
    bytesPerSecond: config.clientRate,
    amplification: amplification(config),
    onRefusal: admissions.refused,
  });
  streams.onSkipped = (key, bytes) => limits.fetched(key, bytes, now());
  const some = (limit: number) => (limit === 0 ? undefined : limit);
  admissions.measure('transfers', {
    use: () => transfers.running,
    perClient: some(config.clientTransfers),
  });
  admissions.measure('requests', { perClient: some(config.clientRequests) });
  admissions.measure('rate', { perClient: some(config.clientRate) });
  const sending: SendFileOptions = {
    name: config.name,
    chunkBytes: config.chunkSize,
    policy,
    localAccess,
    publicUrl: config.publicUrl,
    chunks,
    metrics,
    onChunk: figures?.onChunk,
    now,
    wallClock,
    random: Math.random,
    spare,
    waitsForMemory: (client) => limits.transfersOf(client) <= 1,
  };
  const prefixed = new PrefixedHandler({
    ...sending,
    defaultScheme: config.defaultScheme,
    traces: config.traces,
    limits,
    originUse,
    clientAddress: address,
    clientRtts,
    localAccess,
    resolver,
    client,
    reaper,
    records,
    transfers,
    account,
    onRefusal: admissions.refused,
    onEnded:
      downloads &&
      ((exchange, failure) => {
        const taken = takenBytes(exchange, failure);
        const country = places?.countryOf(exchange.client) ?? NOWHERE;
        if (taken !== undefined) downloads.record({ ...taken, country });
      }),
    log,
  });
  rounds.every(RELIEF_INTERVAL_MS, () => transfers.setPressed(!spare()));
  const { offloadAbove } = config;
  if (offloadAbove > 0) rounds.every(OFFLOAD_INTERVAL_MS, () => transfers.offload(offloadAbove));
  return {
    limits,
    address,
    localAccess,
    clientRtts,
    reaper,
    originUse,
    prefixed,
    sending,
    stop: () => reaper.stop(),
    async close() {
      await writeQuotas?.();
    },
  };
}

/**
 * Returns this process's part of the bytes that may be fetched for a client and not taken by it.
 */
function amplification({ maxAmplification, chunkSize, workers }: Config): Amplification {
  return {
    ratio: maxAmplification,
    allowance: Math.ceil(ALLOWANCE_CHUNKS / workers) * chunkSize,
    regain: (REGAINED_CHUNKS * chunkSize) / workers,
  };
}
