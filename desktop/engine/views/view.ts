/** Makes the view of a download from its record and its run. */

import { adviceOf, ERRORS, isErrorCode } from '@millrace/shared/base/errors';
import type { DownloadFailure, DownloadView } from '@millrace/shared/bridge/rpc/daemon-api';
import type { Manager } from '../downloads/manager.ts';
import type { DownloadRecord, StoredError } from '../store/record.ts';

export function viewOf(manager: Manager, record: DownloadRecord): DownloadView {
  const { gid, request, error } = record;
  const item = manager.queue.get(gid);
  const p = record.state === 'active' ? manager.running(gid)?.progress() : undefined;
  return {
    gid,
    status: record.state,
    phase: record.state === 'active' ? (p?.state ?? 'starting') : undefined,
    held: item?.held,
    name: record.name,
    path: p?.path ?? record.path,
    notKept: isNotKept(record) ? true : undefined,
    dir: request.dir,
    urls: request.urls,
    length: p?.length ?? record.length,
    storedBytes: Math.max(p?.storedBytes ?? 0, p?.path === undefined ? record.storedBytes : 0),
    receivedBytes: record.receivedBytes + (p?.receivedBytes ?? 0),
    bytesPerSecond: Math.round(p?.bytesPerSecond ?? 0),
    etaMs: p?.etaMs === undefined ? undefined : Math.round(p.etaMs),
    connections: p?.sources.reduce((sum, source) => sum + source.connections, 0) ?? 0,
    limit: request.limit,
    priority: record.priority,
    position: item === undefined ? undefined : manager.queue.position(gid),
    category: record.category,
    createdAt: record.createdAt,
    startAt: item?.startAt,
    startedAt: record.startedAt,
    finishedAt: record.finishedAt,
    activeMs: record.activeMs,
    attempts: record.attempts,
    retryAt: item?.retryAt,
    error: error === undefined ? undefined : failureOf(error),
    expiredLink: isErrorCode(error?.code) && ERRORS[error.code].file === 'gone',
    digest: record.digest,
    page: pageOf(record.options.resolved?.url ?? request.headers.referer),
    resolver: record.options.resolved?.by,
    renewedAt: record.options.renewedAt,
    vouch: record.vouch,
    chosenAfter: record.options.after,
    after: record.after,
  };
}

/**
 * Returns true for a followed description whose file was deleted, as it was asked for. Other complete
 * downloads without a place come from a list that was not trusted to name one.
 */
export function isNotKept({ state, path, options }: DownloadRecord): boolean {
  const { follow, follows } = options;
  const choices = typeof follow === 'object' ? Object.values(follow) : [follow];
  return (
    state === 'complete' && path === undefined && follows === 'done' && choices.includes('mem')
  );
}

/** Returns the page that a referrer names, without a log-in. */
function pageOf(referrer: string | undefined): string | undefined {
  const url = referrer === undefined ? null : URL.parse(referrer);
  if (url === null || !/^https?:$/.test(url.protocol)) return undefined;
  url.username = '';
  url.password = '';
  return url.href;
}

function failureOf({ code, message, detail, particulars, onePiece }: StoredError): DownloadFailure {
  // An error code of another version is unknown here, but still worth showing.
  const row = isErrorCode(code) ? ERRORS[code] : undefined;
  const advice = row === undefined ? '' : adviceOf(row, onePiece);
  return {
    ...{ code, message, detail, advice, retryable: row?.retryable ?? false },
    ...(particulars === undefined ? {} : { particulars }),
    ...(onePiece === true ? { onePiece } : {}),
  };
}
