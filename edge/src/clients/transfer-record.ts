/** The line of the log and the counts that each request for a file ends with. */

import type { Millis } from '@millrace/shared/base/clock';
import type { MillraceError } from '@millrace/shared/base/errors';
import type { Log } from '@millrace/shared/base/log';
import type { Metrics } from '../figures/metrics.ts';
import type { Exchange } from './exchanges.ts';
import { spanFields } from './trace.ts';

export interface TransferRecordOptions {
  readonly metrics: Metrics;
  readonly log: Log;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
}

/**
 * Records a request that has been answered.
 *
 * @param shown names the file, without anything secret
 * @param failure why the answer is not whole; undefined: it is
 */
export function recordTransfer(
  { metrics, log, now }: TransferRecordOptions,
  { req, res, client, kind, sentBytes, startedAt, span }: Exchange,
  shown: { readonly url: string | undefined } | { readonly target: string },
  failure: MillraceError | undefined,
): void {
  metrics.requests.inc({ kind, status: String(res.statusCode) });
  if (failure !== undefined) metrics.errors.inc({ code: failure.code });
  log.info(
    {
      client,
      method: req.method,
      ...shown,
      range: req.headers.range,
      status: res.headersSent ? res.statusCode : undefined,
      kind,
      bytes: sentBytes,
      ms: Math.round(now() - startedAt),
      ...spanFields(span),
      ...(failure === undefined ? {} : { code: failure.code, detail: failure.detail }),
    },
    failure === undefined ? 'transfer' : 'transfer failed',
  );
}
