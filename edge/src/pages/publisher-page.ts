/** The page for publishers: it takes a link, and shows what this edge can do with it. */

import { formatBytes } from '@millrace/shared/base/units';
import { whyAndWhat } from '@millrace/shared/http/answers/problem';
import type { Hop, Service } from '@millrace/shared/http/origin/origin-check';
import type { Finding, Grade } from '@millrace/shared/http/origin/origin-findings';
import type { Snippet } from '@millrace/shared/http/urls/link-snippets';
import type { IconName } from '@millrace/shared/style/icon-paths';
import type { CheckResult } from '../check/link-check.ts';
import type { Preset } from '../policy/presets.ts';
import { findingHints } from './finding-hints.ts';
import { findingWords, GRADE_WORDS } from './finding-words.ts';
import { type Html, html } from './html.ts';
import { icon, type RenderedPage, renderPage } from './layout.ts';

export interface PublisherPage {
  readonly edge: string;
  /** Base URL of this edge as the reader reaches it. */
  readonly base: string;
  /** Origins that are served; some by signed links only. */
  readonly served: readonly { readonly origin: string; readonly signed: boolean }[];
  readonly presets: readonly { readonly name: string; readonly preset: Preset }[];
  /** True if signed links let through origins that are not listed. */
  readonly takesLinks: boolean;
  readonly chunkBytes: number;
  /** Edges of the network that may be named to clients. */
  readonly edges: readonly { readonly name: string; readonly healthy: boolean }[];
  /** The text that was typed, if any. */
  readonly typed: string | undefined;
  readonly outcome: Outcome | undefined;
}

/** Outcome of a check. */
export type Outcome =
  /** The link could not be read, or not be checked now. */
  | { readonly kind: 'refused'; readonly title: string; readonly text: string }
  | {
      readonly kind: 'checked';
      readonly url: string;
      readonly result: CheckResult;
      readonly snippets: readonly Snippet[];
      readonly metalinkPath: string;
      readonly name: string;
      /** This edge's rules about the origin, a sentence each. */
      readonly rules: readonly string[];
      /** Command that makes a link by which the file is served, if it needs one. */
      readonly signing: string;
    };

const GRADE_ICONS: Readonly<Record<Grade, IconName>> = {
  good: 'done',
  limited: 'failed',
  bad: 'close',
  note: 'more',
};

const SERVICES: Readonly<Record<Service, readonly [string, string, Grade]>> = {
  chunks: [
    'This edge serves it at its best',
    'The file is cut into chunks, fetched once, and kept for everybody.',
    'good',
  ],
  streamed: [
    'This edge keeps it once it has passed',
    'No parts of it can be fetched one by one: the first client gets the file as it comes, and all others get it from the cache, with ranges.',
    'limited',
  ],
  'passed-through': [
    'This edge serves it, but cannot keep it',
    'The file is passed through in one piece: every download goes to the origin. The reasons are below.',
    'limited',
  ],
  none: ['This edge cannot serve it', 'The reasons are below, with what can be done.', 'bad'],
};

/** Renders the page. */
export function publisherPage(page: PublisherPage): Promise<RenderedPage> {
  const { outcome } = page;
  return renderPage({
    title: outcome?.kind === 'checked' ? `${outcome.name} - Millrace` : 'Millrace edge',
    edge: page.edge,
    styles: ['publisher.css'],
    script: 'publisher.js',
    tools: html`<a href="/-/dashboard">Dashboard</a>`,
    main: html`${form(page)}${outcome === undefined ? explanation(page) : answer(outcome)}`,
  });
}

function form({ typed, outcome }: PublisherPage): Html {
  const wrong = outcome?.kind === 'refused' ? html` aria-invalid="true"` : undefined;
  return html`<section class="ask">
<h1>Put a cache before your large files</h1>
<p class="quiet">Paste the link of a download: see whether this edge may serve it, how well its server behaves, and what to publish.</p>
<form method="get" action="/" class="ask-form" role="search">
<label class="hidden" for="link">Link to a file</label>
<input class="input" id="link" name="link" type="text" inputmode="url" required maxlength="8192" autocomplete="off" autocapitalize="none" spellcheck="false" placeholder="https://example.com/file.iso" value="${typed ?? ''}"${wrong}>
<button class="button primary" type="submit">Check link</button>
</form>
<p class="asking" role="status" aria-live="polite"></p>
</section>`;
}

function explanation(page: PublisherPage): Html {
  const { base, served, presets, takesLinks, chunkBytes, edges } = page;
  return html`<div class="columns">
<section class="card"><h2>How the edge works</h2>
<p>Put its address before the URL of the file:</p>
<pre tabindex="0"><code>${base}/<b>https://example.com/file.iso</b></code></pre>
<p class="quiet">It fetches the file in pieces of ${formatBytes(chunkBytes)}, in parallel, keeps them, and serves them to everybody who asks. Browsers, curl, wget and download managers work as they are: whole files, ranges, resumed downloads.</p></section>
<section class="card"><h2>What this edge serves</h2>${served.length === 0 && presets.length > 0 ? undefined : servedList(served, takesLinks)}${presetList(presets)}</section>
${edges.length === 0 ? undefined : html`<section class="card"><h2>Edges of this network</h2><ul class="plain">${edges.map(({ name, healthy }) => html`<li><code>${name}</code>${healthy ? undefined : html` <span class="quiet">cannot be reached at present</span>`}</li>`)}</ul></section>`}
</div>`;
}

const MAX_LISTED = 30;

function servedList(served: PublisherPage['served'], takesLinks: boolean): Html {
  if (served.length === 0) {
    return takesLinks
      ? html`<p>Files that the operator has signed a link for, and nothing else. Check a link to see how one is made.</p>`
      : html`<p>No origins yet: the operator adds them with <code>--allow-origin</code> or <code>--rules-file</code>.</p>`;
  }
  const more = served.length - MAX_LISTED;
  return html`<ul class="plain">${served
    .slice(0, MAX_LISTED)
    .map(
      ({ origin, signed }) =>
        html`<li><code>${origin === '*' ? 'any public origin' : origin}</code>${signed ? html` <span class="quiet">by signed links</span>` : undefined}</li>`,
    )}${more > 0 ? html`<li class="quiet">and ${String(more)} more</li>` : undefined}</ul>
${takesLinks ? html`<p class="quiet">Files of other servers are served by links that the operator has signed.</p>` : undefined}`;
}

function presetList(presets: PublisherPage['presets']): Html | undefined {
  if (presets.length === 0) return undefined;
  return html`<ul class="plain presets">${presets.map(
    ({ name, preset }) =>
      html`<li><b>${name}</b>: ${preset.title} <span class="quiet">${preset.origins.map(({ origin }) => origin).join(', ')}</span></li>`,
  )}</ul>`;
}

function answer(outcome: Outcome): Html {
  if (outcome.kind === 'refused') {
    return banner('bad', outcome.title, outcome.text);
  }
  const { result, url, rules, signing } = outcome;
  if (result.kind === 'failed' && result.needsLink === true) {
    const text =
      'Its origin is not served to everybody here. A link that the operator has signed lets it through, for any client, until the link expires.';
    return html`${banner('limited', 'This edge serves it by signed links only', text, url)}
<section class="card share"><h2>How such a link is made</h2>
<p>Somebody who has the secret of the edge makes it, on any machine with Millrace:</p>
<dl><div class="snippet" data-snippet="sign"><dt id="label-sign">Command</dt><dd><code id="text-sign">${signing}</code></dd></div></dl>
<p class="quiet">It prints the address to publish. If you do not have the secret, ask the operator.</p></section>
${rulesCard(rules)}`;
  }
  if (result.kind === 'failed') {
    const { error } = result;
    return html`${banner('bad', error.row.title, whyAndWhat(error), url)}${rulesCard(rules)}${hopList(result.hops)}`;
  }
  const { report, seen } = result;
  const [title, text, grade] = SERVICES[report.service];
  const usable = report.service !== 'none';
  return html`${banner(grade, title, text, url, factsOf(result))}
${usable ? share(outcome) : undefined}
${rulesCard(rules)}
<section class="card findings"><h2>How the origin behaves</h2><ul>${report.findings.map(findingRow)}</ul></section>
${hopList(seen.hops)}`;
}

function banner(grade: Grade, title: string, text: string, url?: string, facts?: string): Html {
  return html`<section class="verdict ${grade}" aria-label="Result">
<span class="mark">${icon(GRADE_ICONS[grade], 22)}</span>
<div><h2>${title}</h2><p>${text}</p>
${url === undefined ? undefined : html`<p class="file mono">${url}</p>`}
${facts === undefined ? undefined : html`<p class="quiet figures">${facts}</p>`}</div>
</section>`;
}

function factsOf(result: Extract<CheckResult, { kind: 'seen' }>): string {
  const { length } = result.report;
  const type = result.seen.begin.headers['content-type'];
  const facts = [length === undefined ? 'length unknown' : formatBytes(length)];
  if (typeof type === 'string') facts.push(type);
  return facts.join(' · ');
}

function share(outcome: Extract<Outcome, { kind: 'checked' }>): Html {
  const { snippets, metalinkPath } = outcome;
  return html`<section class="card share"><h2>Publish this</h2>
<dl>${snippets.map(({ id, label, text }) => html`<div class="snippet" data-snippet="${id}"><dt id="label-${id}">${label}</dt><dd><code id="text-${id}">${text}</code></dd></div>`)}</dl>
<p class="quiet">The Metalink names all edges of this network and the origin; download managers fetch from several at once, and from the others if one fails.
<a href="${metalinkPath}" download>Save it as a file</a></p>
</section>`;
}

function findingRow(finding: Finding): Html {
  const { title, text } = findingWords(finding);
  const hints = finding.grade === 'good' ? [] : findingHints(finding.id);
  return html`<li class="finding ${finding.grade}" data-finding="${finding.id}" data-grade="${finding.grade}">
<span class="mark">${icon(GRADE_ICONS[finding.grade])}</span>
<div><h3>${title} <span class="grade">${GRADE_WORDS[finding.grade]}</span></h3><p>${text}</p>
${
  hints.length === 0
    ? undefined
    : html`<details><summary>What to do</summary>${hints.map(
        ({
          server,
          text: advice,
          code,
        }) => html`<div class="hint"><h4>${server}</h4><p>${advice}</p>
${code === undefined ? undefined : html`<pre tabindex="0"><code>${code}</code></pre>`}</div>`,
      )}</details>`
}</div></li>`;
}

function rulesCard(rules: readonly string[]): Html | undefined {
  if (rules.length === 0) return undefined;
  return html`<section class="card rules"><h2>This edge's rules for the origin</h2><ul class="plain">${rules.map(
    (rule) => html`<li>${rule}</li>`,
  )}</ul></section>`;
}

function hopList(hops: readonly Hop[]): Html | undefined {
  if (hops.length === 0) return undefined;
  return html`<section class="card hops"><h2>Redirects</h2><ol>${hops.map(
    ({ status, to }) =>
      html`<li><span class="figures quiet">${status}</span> <code>${to}</code></li>`,
  )}</ol></section>`;
}
