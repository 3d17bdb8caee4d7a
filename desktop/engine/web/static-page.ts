/** Serves the page's files, with their header fields. */

import { existsSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { MINI_PATH } from '@millrace/shared/bridge/page/mini-path';

/** File names with a digest of their content, which therefore never changes. */
const HASHED = /^\/assets\/[^/]*[-.][A-Za-z0-9_-]{8,}\.[a-z0-9]+$/;

/** Paths at which the page is, whole or as its mini view. */
const PAGES: ReadonlySet<string> = new Set(['/', MINI_PATH]);

const NOT_BUILT = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Millrace</title></head>
<body><h1>Millrace</h1>
<p>The daemon runs. Its interface has not been built yet. In the folder of the project:</p>
<pre>node scripts/build-ui.mjs</pre>
<p>Then load this page again.</p></body></html>
`;

export class StaticPage {
  readonly #folder: string;
  readonly #socketScheme: 'ws' | 'wss';

  /**
   * @param folder with index.html and assets; may appear and change while the daemon runs
   * @param socketScheme of WebSockets at the page's address
   */
  constructor(folder: string, socketScheme: 'ws' | 'wss') {
    this.#folder = folder;
    this.#socketScheme = socketScheme;
  }

  /** Answers a request for a file. @param path of the URL, still encoded */
  async serve(req: IncomingMessage, res: ServerResponse, path: string): Promise<void> {
    for (const [name, value] of Object.entries(this.#headers(req.headers.host ?? ''))) {
      res.setHeader(name, value);
    }
    if (req.method !== 'GET' && req.method !== 'HEAD') {
      res.setHeader('allow', 'GET, HEAD');
      return say(res, 405, 'text/plain', 'GET and HEAD only\n');
    }
    const isPage = PAGES.has(path);
    if (isPage && !existsSync(join(this.#folder, 'index.html'))) {
      return say(res, 503, 'text/html', NOT_BUILT);
    }
    // Loaded here because most daemons never show a page.
    const { default: send } = await import('send');
    const file = send(req, isPage ? '/index.html' : path, {
      root: this.#folder,
      index: false,
      dotfiles: 'ignore',
      acceptRanges: false,
      cacheControl: false,
      lastModified: false,
    });
    file.on('headers', (response: ServerResponse) => {
      const hashed = HASHED.test(path);
      response.setHeader(
        'cache-control',
        hashed ? 'public, max-age=31536000, immutable' : 'no-cache',
      );
    });
    file.on('directory', () => say(res, 404, 'text/plain', 'there is no such file\n'));
    file.on('error', (error: { readonly status?: number }) => {
      if (res.headersSent) return void res.destroy();
      say(res, error.status === 400 ? 400 : 404, 'text/plain', 'there is no such file\n');
    });
    file.pipe(res);
  }

  /** @param host a Host field that the guard has accepted */
  #headers(host: string): Record<string, string> {
    return {
      'content-security-policy': [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        // Not every browser takes 'self' to include WebSockets.
        `connect-src 'self' ${this.#socketScheme}://${host}`,
        "font-src 'self'",
        "manifest-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
      ].join('; '),
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
    };
  }
}

function say(res: ServerResponse, status: number, type: string, text: string): void {
  res.writeHead(status, {
    'content-type': `${type}; charset=utf-8`,
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
  });
  res.end(res.req.method === 'HEAD' ? undefined : text);
}
