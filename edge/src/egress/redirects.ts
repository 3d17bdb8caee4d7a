/** Reads redirects of origins: their targets, and fields about the file behind them. */

import { MillraceError } from '@millrace/shared/base/errors';
import { redirectTarget } from '@millrace/shared/http/answers/redirect';
import { type Headers, listField } from '@millrace/shared/http/fields/headers';
import { parseOriginUrl } from '@millrace/shared/http/urls/prefixed-url';
import type { HttpAnswer } from '@millrace/shared/node/http-response';

/** Returns the canonical URL that a redirect leads to. @throws MillraceError `bad-redirect` */
export function originTarget(response: HttpAnswer): URL {
  const target = redirectTarget(response.headers, response.url);
  try {
    return parseOriginUrl(target.href);
  } catch (cause) {
    throw new MillraceError('bad-redirect', target.protocol, { cause });
  }
}

/**
 * Fields of a chain of redirects that a rule passes on (`redirectFields`). Some origins describe a file
 * only where they redirect to it, and their clients read the description there. Of several redirects
 * the first one counts.
 */
export class RedirectFields {
  readonly #names: readonly string[];
  readonly #found: Record<string, string> = {};

  /** @param names in lower case */
  constructor(names: readonly string[] = []) {
    this.#names = names;
  }

  /** Takes the fields of a redirect. */
  take(headers: Headers): void {
    for (const name of this.#names) {
      const value = listField(headers, name);
      if (value !== undefined) this.#found[name] ??= value;
    }
  }

  /** Adds the fields to the answer behind the redirects, in place of those of the same names. */
  addTo<A extends HttpAnswer>(answer: A): A {
    Object.assign(answer.headers, this.#found);
    return answer;
  }
}
