/** Parts that all pages of the edge share: head, header, and the fields for browsers. */

import { randomBytes } from 'node:crypto';
import { ICON_PATHS, type IconName } from '@millrace/shared/style/icon-paths';
import type { FastifyReply } from 'fastify';
import { loadAssets } from './assets.ts';
import { type Html, html } from './html.ts';

export interface PageParts {
  readonly title: string;
  /** The edge's name. */
  readonly edge: string;
  /** Style sheets and module of this page, besides those of all pages. */
  readonly styles: readonly string[];
  readonly script: string | undefined;
  /** Further things at the end of the header. */
  readonly tools?: Html | undefined;
  readonly main: Html;
}

/** A page, ready to be sent. */
export interface RenderedPage {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Fields of all pages, besides their policies. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/html; charset=utf-8',
  'x-frame-options': 'DENY',
  // Links that are checked may be confidential.
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
};

/** Beginning of each page, up to its own title. */
export const PAGE_START = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">`;

/**
 * Makes the policy of a page. Scripts and styles are allowed by a nonce (CSP 3, 6.7.3), which
 * modules pass on to their imports: 'self' would also allow strangers' files, which have the same
 * origin.
 */
function contentPolicy(nonce: string): string {
  return [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

/** Renders a whole page. */
export async function renderPage(page: PageParts): Promise<RenderedPage> {
  const { folder } = await loadAssets();
  const nonce = randomBytes(16).toString('base64url');
  const styles = ['tokens.css', 'base.css', 'common.css', ...page.styles];
  const body = html`${PAGE_START}
<title>${page.title}</title>
<link rel="icon" type="image/svg+xml" href="${folder}icon.svg">
${styles.map((name) => html`<link rel="stylesheet" nonce="${nonce}" href="${folder}${name}">\n`)}
${page.script === undefined ? undefined : html`<script type="module" nonce="${nonce}" src="${folder}${page.script}"></script>`}
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header class="top">
<a class="brand" href="/">${LOGO}<span>Millrace</span></a>
<span class="edge-name cut" title="The name of this edge">${page.edge}</span>
<nav class="top-tools" aria-label="Pages of this edge">${page.tools}</nav>
</header>
<main id="main" tabindex="-1">
${page.main}
</main>
</body>
</html>
`.toString();
  return { headers: { ...PAGE_HEADERS, 'content-security-policy': contentPolicy(nonce) }, body };
}

/** Sends a page; its status and further fields have been set. */
export function sendPage(reply: FastifyReply, { headers, body }: RenderedPage): FastifyReply {
  return reply.headers(headers).send(body);
}

/** Draws an icon beside text that says the same. */
export function icon(name: IconName, size = 16): Html {
  return html`<svg class="icon" width="${size}" height="${size}" viewBox="0 0 16 16" aria-hidden="true"><path d="${ICON_PATHS[name]}"/></svg>`;
}

/** Millrace's sign. */
export const LOGO = html`<svg class="logo" width="24" height="24" viewBox="0 0 256 256" aria-hidden="true"><rect width="256" height="256" rx="58"/><path class="side" d="M62 52c0 44 66 40 66 84M194 52c0 44-66 40-66 84"/><path d="M128 52v124M82 134l46 46 46-46"/><path class="side" d="M58 216h140"/></svg>`;
