/**
 * Rebuilds the fields of a browser's request that identify the user, for one URL whose request
 * cannot be seen: in Chromium for links with the attribute `download`, and in both browsers for
 * links that the browser has not requested at all.
 */

import type { BrowserApi } from '../browser/api.ts';

export class AskerFields {
  readonly #cookies: BrowserApi['cookies'] | undefined;
  readonly #navigator: Pick<Navigator, 'userAgent' | 'languages'>;

  constructor(
    cookies: BrowserApi['cookies'] | undefined,
    navigator: Pick<Navigator, 'userAgent' | 'languages'>,
  ) {
    this.#cookies = cookies;
    this.#navigator = navigator;
  }

  /**
   * Returns the fields of a request for a URL.
   *
   * @param referrer URL of the page with the link, if any
   */
  async of(url: string, referrer = ''): Promise<Record<string, string>> {
    const page = URL.canParse(referrer) ? new URL(referrer) : undefined;
    const cookie = await this.#cookieField(new URL(url), page);
    const fromWeb = page?.protocol === 'http:' || page?.protocol === 'https:';
    return {
      'user-agent': this.#navigator.userAgent,
      'accept-language': this.#navigator.languages.slice(0, 10).join(', '),
      ...(fromWeb ? referrerOf(new URL(url), page) : {}),
      ...(cookie === '' ? {} : { cookie }),
    };
  }

  async #cookieField(url: URL, page: URL | undefined): Promise<string> {
    const cookies = (await this.#cookies?.getAll({ url: url.href }).catch(() => [])) ?? [];
    // The browser would not send strict cookies for a link on another site's page.
    const strict = page !== undefined && page.hostname !== url.hostname;
    return cookies
      .filter(({ sameSite }) => !(strict && sameSite === 'strict'))
      .sort((a, b) => b.path.length - a.path.length)
      .map(({ name, value }) => (name === '' ? value : `${name}=${value}`))
      .join('; ');
  }
}

/** Returns the referrer that browsers send by default: strict-origin-when-cross-origin. */
function referrerOf(url: URL, page: URL): { referer?: string } {
  if (page.origin === url.origin) return { referer: page.origin + page.pathname + page.search };
  const downgrade = page.protocol === 'https:' && url.protocol !== 'https:';
  return downgrade ? {} : { referer: `${page.origin}/` };
}
