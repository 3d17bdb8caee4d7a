/**
 * The sources of one download of the app: counts the bytes of each source, and describes the
 * sources for the user interface.
 */

import type { Millis } from '@millrace/shared/base/clock';
import type { MillraceError } from '@millrace/shared/base/errors';
import type { SourceStatus } from '@millrace/shared/bridge/rpc/detail-api';
import { RateMeter } from '@millrace/shared/download/figures/rate-meter';
import { type Seats, SourcePool } from '@millrace/shared/download/transfer/source-pool';
import type { DownloadSource } from './download-source.ts';

/** Learned limits of requests per host, shared by all downloads of a process and remembered. */
export interface HostLimits {
  /** Most requests at a time that the host (`URL.host`) is known to accept. */
  limit(host: string): number;
  /** The host refused one of `active` requests at a time. */
  onRefused(host: string, active: number, retryAfterMs?: number): void;
  /** The host served `active` requests at a time. */
  onServed(host: string, active: number): void;
  /** Returns how many connections downloads from the host needed lately; undefined: unknown. */
  needed?(host: string): number | undefined;
  /** A download from the host alone has needed this many connections. */
  onNeeded?(host: string, count: number): void;
}

interface Figures {
  readonly meter: RateMeter;
  /** Connections that broke after bytes had arrived. */
  resets: number;
}

export class SourceSet extends SourcePool<DownloadSource> {
  readonly #figures = new Map<DownloadSource, Figures>();

  /** @param perHost most requests to one host at a time */
  constructor(perHost: number, hosts: HostLimits | undefined, now: () => Millis) {
    super(seatsOf(perHost, hosts), now);
  }

  override add(source: DownloadSource): void {
    super.add(source);
    this.#figures.set(source, { meter: new RateMeter(this.now()), resets: 0 });
  }

  override onBytes(source: DownloadSource, count: number): void {
    super.onBytes(source, count);
    this.#figures.get(source)?.meter.add(count);
  }

  override onFailure(source: DownloadSource, error: MillraceError, isThere: boolean): void {
    const figures = this.#figures.get(source);
    if (figures !== undefined && isThere && error.row.again === 'at once') figures.resets++;
    super.onFailure(source, error, isThere);
  }

  /** Returns the first of these edges that is a source and may be asked; undefined: none may. */
  firstEdge(bases: readonly string[]): string | undefined {
    const used = this.sources.filter(
      ({ kind, health }) => kind === 'edge' && health.quarantine === undefined,
    );
    return bases.find((base) => used.some(({ edge }) => edge === base));
  }

  status(): SourceStatus[] {
    const now = this.now();
    return [...this.#figures].map(([source, { meter, resets }]) => {
      const { health, label, url, kind, receivedBytes, rttMs } = source;
      const reason = health.quarantine ?? health.lastFailure;
      return {
        label,
        url,
        kind,
        state: stateOf(source, now),
        ...(reason === undefined ? {} : { reason: reason.message, reasonCode: reason.code }),
        ...(rttMs === undefined ? {} : { rttMs }),
        resets,
        bytesPerSecond: meter.bytesPerSecond(now),
        receivedBytes,
        connections: this.active(source),
      };
    });
  }
}

function seatsOf(perHost: number, hosts: HostLimits | undefined): Seats {
  return {
    perSource: perHost,
    room: (host, active) => Math.min(perHost, Math.max(1, hosts?.limit(host) ?? perHost)) - active,
    take: () => true,
    release: () => {},
    onServed: (host, active) => hosts?.onServed(host, active),
    onRefused: (host, active, retryAfterMs) => hosts?.onRefused(host, active, retryAfterMs),
  };
}

function stateOf(source: DownloadSource, now: Millis): SourceStatus['state'] {
  if (source.health.quarantine !== undefined) return 'quarantined';
  if (source.health.isResting(now)) return 'resting';
  return source.isAdmitted ? 'used' : 'trying';
}
