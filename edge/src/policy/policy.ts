/** The edge's policy in one place: may this URL be fetched, and may it be at a private address? */

import { MillraceError } from '@millrace/shared/base/errors';
import type { AllowList } from './allow-list.ts';
import { hasBadPort } from './bad-ports.ts';
import { checkLiteral } from './public-address.ts';

/**
 * What a request may reach. `private` requests carry the local token (or name a host that is
 * listed literally); what they bring in is kept apart from what everybody may have.
 */
export type Scope = 'public' | 'private';

export class OriginPolicy {
  readonly #allowed: AllowList;

  constructor(allowed: AllowList) {
    this.#allowed = allowed;
  }

  /**
   * Checks a URL, the one asked for or one that an origin redirects to.
   *
   * @param scope what the request itself may reach
   * @returns true when the connection may go to a private address
   * @throws MillraceError `origin-not-allowed` or `private-address`
   */
  check(url: URL, scope: Scope): boolean {
    const verdict = this.#allowed.check(url);
    if (hasBadPort(url)) {
      throw new MillraceError('origin-not-allowed', `port ${url.port} is of another protocol`);
    }
    if (!verdict.allowed && scope !== 'private') {
      throw new MillraceError('origin-not-allowed', url.host);
    }
    if (verdict.privateToo || scope === 'private') return true;
    checkLiteral(url);
    return false;
  }
}
