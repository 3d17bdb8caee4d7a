/** Sends interim answers of an origin on to a client (RFC 9110 15.2). */

import type { Exchange } from '../../clients/exchanges.ts';
import { sendInterimAnswer } from '../../clients/interim-answer.ts';
import type { OnInterim } from '../../files/path.ts';
import type { LocalAccess } from '../../policy/local-access.ts';
import { changeFields } from '../../policy/origin-rules.ts';
import type { OriginPolicy } from '../../policy/policy.ts';
import { forPages } from './other-sites.ts';

export interface InterimOptions {
  readonly policy: OriginPolicy;
  readonly localAccess?: LocalAccess | undefined;
}

/** Returns what sends interim answers to the client; undefined for one that cannot read them. */
export function interimTo(o: InterimOptions, { req, res, url }: Exchange): OnInterim | undefined {
  // Clients of HTTP/1.0 would take it for the answer.
  if (url === undefined || req.httpVersionMajor < 1 || req.httpVersion === '1.0') return undefined;
  return ({ status, fields }) => {
    if (res.headersSent || res.destroyed) return;
    const { dropFields, passLabels } = o.policy.rule(url);
    const changed = { ...fields };
    changeFields({ dropFields, passLabels }, changed, undefined);
    const sent = forPages(o, changed);
    sendInterimAnswer(req, res, status, sent);
  };
}
