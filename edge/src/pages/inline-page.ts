/**
 * Pages that are complete by themselves: they load no script, style or picture, so that they are the
 * same at every edge and behind every prefix. Their policy allows what they hold by its digest.
 */

import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { loadAssets, OWN } from './assets.ts';
import { Html, html } from './html.ts';
import { joinModules } from './inline-script.ts';
import { LOGO, PAGE_HEADERS, PAGE_START, type RenderedPage } from './layout.ts';

export interface InlineParts {
  readonly title: string;
  /** Path of the module in the folder of scripts; undefined: the page has none. */
  readonly script?: string | undefined;
  /** Servers that its script may ask: the edge alone, or the places of a file, wherever they are. */
  readonly asks?: 'edge' | 'places';
  /** State of the page as its script finds it. */
  readonly state?: string | undefined;
  readonly main: Html;
}

const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 256 256'%3E%3Crect width='256' height='256' rx='58' fill='%230b7285'/%3E%3Cpath d='M128 52v124M82 134l46 46 46-46' fill='none' stroke='%23fff' stroke-width='26'/%3E%3C/svg%3E";

let styles: Promise<string> | undefined;

/** Renders a page. What it says must not depend on who asks. */
export async function renderInlinePage(parts: InlineParts): Promise<RenderedPage> {
  const { title, script, asks = 'edge', state, main } = parts;
  styles ??= readStyles();
  const style = await styles;
  const code = script === undefined ? undefined : await joinModules(new URL(script, OWN));
  const body = html`${PAGE_START}
<meta name="robots" content="noindex">
<title>${title}</title>
<link rel="icon" href="${ICON}">
<style>${new Html(style)}</style>
</head>
<body data-state="${state ?? 'ready'}">
<header class="top"><span class="brand">${LOGO}<span>Millrace</span></span></header>
<main id="main">
${main}
</main>
${code === undefined ? undefined : new Html(`<script type="module">${code}</script>`)}
</body>
</html>
`.toString();
  return {
    headers: {
      ...PAGE_HEADERS,
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'content-security-policy': contentPolicy(style, code, asks),
    },
    body,
  };
}

function contentPolicy(
  style: string,
  code: string | undefined,
  asks: NonNullable<InlineParts['asks']>,
): string {
  const places = asks === 'edge' ? "'self'" : "'self' https: http:";
  return [
    "default-src 'none'",
    `style-src '${digestOf(style)}'`,
    'img-src data:',
    ...(code === undefined ? [] : [`script-src '${digestOf(code)}'`, `connect-src ${places}`]),
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');
}

function digestOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}

async function readStyles(): Promise<string> {
  const { files } = await loadAssets();
  const shared = ['tokens.css', 'base.css', 'common.css'].map((name) => files.get(name)?.body);
  const own = await readFile(new URL('inline.css', OWN), 'utf8');
  return [...shared, own].join('\n').replace(/\/\*(?:[^*]|\*(?!\/))*\*\/\s*/g, '');
}
