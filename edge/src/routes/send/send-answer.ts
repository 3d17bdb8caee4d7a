/** Answers with what the origin says where it has no file, for origins whose rule allows it. */

import type { Millis } from '@millrace/shared/base/clock';
import { currentAge } from '@millrace/shared/http/answers/freshness';
import { formatCacheStatus } from '@millrace/shared/http/fields/cache-status';
import { viaItem } from '@millrace/shared/http/fields/via';
import { canAnswer, endResponse } from '../../clients/connection.ts';
import type { Exchange } from '../../clients/exchanges.ts';
import type { Metrics } from '../../figures/metrics.ts';
import { AnsweredError } from '../../files/origin-answer.ts';
import { changeFields } from '../../policy/origin-rules.ts';
import { type ForClientOptions, forClient } from './for-client.ts';

export interface SendAnswerOptions extends ForClientOptions {
  /** Name of this edge. */
  readonly name: string;
  readonly metrics: Metrics;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
  /** Unix milliseconds. */
  readonly wallClock: () => Millis;
}

/**
 * Sends the origin's answer to clients that take pages. Clients that know Millrace get the error,
 * whose code tells them what to do.
 *
 * @throws the error itself if its answer is not for this client, or if a rule refuses it
 */
export async function sendAnswer(
  o: SendAnswerOptions,
  exchange: Exchange,
  error: unknown,
): Promise<void> {
  const { req, res, url, aware } = exchange;
  const takesPages = (req.method === 'GET' || req.method === 'HEAD') && !aware;
  if (!(error instanceof AnsweredError) || !takesPages || url === undefined || !canAnswer(res)) {
    throw error;
  }
  const { answer, outcome } = error;
  const { status, fields, body, freshness } = answer;
  const length = String(body.length);
  const headers = { ...fields, 'content-length': length };
  o.policy.checkAnswer(url, { url: new URL(answer.finalUrl), headers });
  const changed = { ...fields };
  changeFields(o.policy.rule(url), changed, req.headers.origin);
  exchange.kind = 'tunnel';
  const sent = req.method === 'HEAD' || status === 204 ? 0 : body.length;
  if (!outcome.hit) exchange.admission.fetched(body.length);
  exchange.bodyBytes = sent;
  const age = Math.floor(currentAge(freshness, o.wallClock()) / 1000);
  res.writeHead(status, {
    ...forClient(o, exchange, changed),
    ...(status === 204 ? {} : { 'content-length': length }),
    ...(outcome.hit ? { age: String(age) } : {}),
    via: viaItem(o.name),
    'cache-status': formatCacheStatus(o.name, outcome),
  });
  if (sent > 0) {
    res.write(body);
    exchange.sentBytes += sent;
    exchange.admission.sent(sent, o.now());
    o.metrics.sentToClient(sent);
  }
  await endResponse(res);
}
