/** Makes the detail of one download for the interface. */

import type {
  BlockMap,
  DigestView,
  DownloadDetail,
  SourceView,
} from '@millrace/shared/bridge/rpc/detail-api';
import type { Resolved } from '@millrace/shared/download/resolve/resolved';
import type { Manager } from '../downloads/manager.ts';
import { withoutLogin } from '../net/credentials.ts';
import type { DownloadRecord } from '../store/record.ts';
import { type LastRun, lookAt } from './download-log.ts';
import type { DownloadLogs } from './download-logs.ts';

/** Header fields that identify the user, whose values are never shown. */
const SECRET = /^(?:authorization|cookie|proxy-authorization|x-.*(?:token|key|secret).*)$/i;

/**
 * Describes a download in detail, for the page.
 *
 * @param cells number of cells of the map, 1 to MAX_CELLS
 */
export function detailOf(
  manager: Manager,
  downloadLogs: DownloadLogs,
  record: DownloadRecord,
  cells: number,
): DownloadDetail {
  const { gid, request } = record;
  const { resolved } = record.options;
  const progress = manager.running(gid)?.progress();
  const downloadLog = downloadLogs.downloadLog(gid);
  const now = progress === undefined ? undefined : lookAt(progress, cells);
  const known = now !== undefined && now.sources.length > 0 ? now : downloadLog.last;
  const { last } = downloadLog;
  // Until the run has opened the partial file, show the contents that the last run left.
  const unopened = progress !== undefined && progress.path === undefined && last !== undefined;
  const run = unopened && known ? { ...known, stored: last.stored, by: last.by } : known;
  const length = progress?.length ?? record.length;
  return {
    gid,
    running: progress !== undefined,
    map: mapOf(record, length, run, cells),
    sources: progress === undefined ? (run?.sources ?? []).map(atRest) : (run?.sources ?? []),
    speed: downloadLog.speed.since(),
    log: downloadLog.log,
    digests: digestsOf(record, run),
    pieces: request.pieces?.hexes.length ?? 0,
    headers: Object.fromEntries(
      Object.entries(request.headers).map(([k, v]) => [k, SECRET.test(k) ? '…' : v]),
    ),
    proxy: withoutPassword(request.proxy),
    edges: request.edges,
    ...(resolved === undefined ? {} : { resolved: resolvedView(resolved) }),
  };
}

function resolvedView({ by, url, expires }: Resolved) {
  return { by, url: withoutLogin(url), ...(expires === undefined ? {} : { expires }) };
}

function mapOf(
  { state }: DownloadRecord,
  length: number | undefined,
  run: LastRun | undefined,
  most: number,
): BlockMap {
  // A cell has at least one byte.
  const cells = Math.max(1, Math.min(most, length ?? most));
  if (state === 'complete') {
    const stored = new Array<number>(cells).fill(100);
    return { length, stored, by: fit(run?.by ?? [], cells, -1), arriving: [] };
  }
  if (length === undefined) return { stored: [], by: [], arriving: [] };
  const stored = fitShares(run?.stored ?? [], cells);
  const by = fit(run?.by ?? [], cells, -1).map((who, i) => (stored[i] === 0 ? -1 : who));
  return { length, stored, by, arriving: [] };
}

/** Resizes a row of cells; each new cell gets the old value at its middle. */
function fit(values: readonly number[], cells: number, none: number): number[] {
  const { length } = values;
  if (length === cells) return [...values];
  return Array.from({ length: cells }, (_, i) => {
    return values[Math.floor(((i + 0.5) * length) / cells)] ?? none;
  });
}

/**
 * Resizes a row of cells like `fit`; if it shrinks, each new cell gets the mean of the old cells.
 */
function fitShares(values: readonly number[], cells: number): number[] {
  const { length } = values;
  if (length <= cells) return fit(values, cells, 0);
  return Array.from({ length: cells }, (_, i) => {
    const from = Math.floor((i * length) / cells);
    const part = values.slice(from, Math.floor(((i + 1) * length) / cells));
    return Math.round(part.reduce((sum, share) => sum + share, 0) / part.length);
  });
}

/** Returns a source as it is after the end of its run. */
function atRest(source: SourceView): SourceView {
  return { ...source, bytesPerSecond: 0, connections: 0 };
}

function digestsOf(record: DownloadRecord, run: LastRun | undefined): DigestView[] {
  const { request, digest: verified, error } = record;
  const said = [
    ...request.digests.map((digest) => ({ by: 'user', digest })),
    ...(run?.digests ?? []).filter(({ digest }) => !request.digests.some(isSame(digest))),
  ];
  if (verified !== undefined && !said.some(({ digest }) => isSame(verified)(digest))) {
    said.push({ by: record.host, digest: verified });
  }
  const mismatch = error?.code === 'checksum-mismatch';
  return said.map(({ by, digest }) => ({
    ...digest,
    by,
    state:
      verified !== undefined && isSame(verified)(digest)
        ? 'verified'
        : mismatch
          ? 'mismatch'
          : 'expected',
  }));
}

type AnyDigest = { readonly algorithm: string; readonly hex: string };

function isSame(a: AnyDigest): (b: AnyDigest) => boolean {
  return (b) => a.algorithm === b.algorithm && a.hex === b.hex;
}

function withoutPassword(proxy: string | undefined): string | undefined {
  const url = URL.parse(proxy ?? '');
  if (url === null || (url.username === '' && url.password === '')) return proxy;
  url.username = '';
  url.password = '';
  return url.href;
}
