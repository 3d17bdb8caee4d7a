/** The Cache-Status response field (RFC 9211). */

/** The reasons for which an edge forwards a request (RFC 9211 2.2). */
type ForwardReason = 'uri-miss' | 'miss' | 'stale' | 'request' | 'bypass';

export type CacheOutcome =
  | { readonly hit: true; readonly ttlSeconds: number; readonly detail?: string }
  | {
      readonly hit: false;
      readonly fwd: ForwardReason;
      /** Status of the origin's answer, if the origin was asked. */
      readonly fwdStatus?: number;
      readonly stored?: boolean;
      /** True if the request shared a fetch with another request. */
      readonly collapsed?: boolean;
      readonly detail?: string;
    };

/** Writes the field for the cache called `name`. */
export function formatCacheStatus(name: string, outcome: CacheOutcome): string {
  const members = [quote(name)];
  if (outcome.hit) {
    members.push('hit', `ttl=${outcome.ttlSeconds}`);
  } else {
    members.push(`fwd=${outcome.fwd}`);
    if (outcome.fwdStatus !== undefined) members.push(`fwd-status=${outcome.fwdStatus}`);
    if (outcome.stored === true) members.push('stored');
    if (outcome.collapsed === true) members.push('collapsed');
  }
  if (outcome.detail !== undefined) members.push(`detail=${quote(outcome.detail)}`);
  return members.join('; ');
}

/** Writes text as a structured-field token if it is one, otherwise as a string (RFC 9651 3.3). */
function quote(text: string): string {
  if (/^[a-z*][a-z0-9!#$%&'*+.^_`|~:/-]*$/i.test(text)) return text;
  return `"${text.replace(/[^\x20-\x7e]/g, '?').replace(/["\\]/g, '\\$&')}"`;
}
