/** What all pages of the edge have in common: head, header, and what browsers are told. */

import { ICON_PATHS, type IconName } from '@millrace/shared/style/icon-paths';
import { loadAssets } from './assets.ts';
import { type Html, html } from './html.ts';

export interface PageParts {
  readonly title: string;
  /** The edge's name. */
  readonly edge: string;
  /** Style sheets and module of this page besides those of all. */
  readonly styles: readonly string[];
  readonly script: string | undefined;
  /** Further things at the end of the header. */
  readonly tools?: Html | undefined;
  readonly main: Html;
}

/** Nothing is loaded but our own files, nothing is written into the page that runs. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'x-frame-options': 'DENY',
  // Links that are checked may hold what is nobody else's business.
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
};

/** A whole page. */
export async function renderPage(page: PageParts): Promise<string> {
  const { folder } = await loadAssets();
  const styles = ['tokens.css', 'base.css', 'common.css', ...page.styles];
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${page.title}</title>
<link rel="icon" type="image/svg+xml" href="${folder}icon.svg">
${styles.map((name) => html`<link rel="stylesheet" href="${folder}${name}">\n`)}
${page.script === undefined ? undefined : html`<script type="module" src="${folder}${page.script}"></script>`}
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
}

/** An icon beside text that says the same. */
export function icon(name: IconName, size = 16): Html {
  return html`<svg class="icon" width="${size}" height="${size}" viewBox="0 0 16 16" aria-hidden="true"><path d="${ICON_PATHS[name]}"/></svg>`;
}

const LOGO = html`<svg class="logo" width="24" height="24" viewBox="0 0 256 256" aria-hidden="true"><rect width="256" height="256" rx="58"/><path class="side" d="M62 52c0 44 66 40 66 84M194 52c0 44-66 40-66 84"/><path d="M128 52v124M82 134l46 46 46-46"/><path class="side" d="M58 216h140"/></svg>`;
