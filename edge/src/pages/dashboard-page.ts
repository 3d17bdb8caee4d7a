/** The frame of the dashboard's page, which its script fills, and the pages for logging in. */

import type { OriginPolicy } from '../policy/policy.ts';
import { type Html, html } from './html.ts';
import { type RenderedPage, renderPage } from './layout.ts';
import { ruleWords } from './rule-words.ts';

/** Most entries of a list that are shown. */
const MAX_LISTED = 50;
/** Says what the figures of the window mean, for operators who have not read the protocol. */
const WINDOW_NOTE =
  'The window is the number of chunks fetched ahead for one client: it grows while chunks come in time, and shrinks when one is late and must be requested again.';

/** Makes the page for users who have logged in; it shows the policy at the time of opening. */
export function dashboardPage(
  edge: string,
  policy: Pick<OriginPolicy, 'served' | 'takesLinks'>,
): Promise<RenderedPage> {
  return renderPage({
    title: `${edge} - Millrace dashboard`,
    edge,
    styles: ['dashboard.css', 'charts.css', 'peers.css', 'files.css', 'admission.css'],
    script: 'dashboard.js',
    tools: html`<span class="state" id="state" role="status">Connecting</span>
<form method="post" action="/-/dashboard/logout"><button class="button small" type="submit">Log out</button></form>`,
    main: html`<h1 class="hidden">Dashboard</h1>
<noscript><p class="card">The dashboard needs a script. The same figures are at <a href="/-/status">/-/status</a> and <a href="/-/metrics">/-/metrics</a>.</p></noscript>
<p class="offline" id="offline" role="alert" hidden></p>
${RANGE}
<dl class="tiles" id="tiles"></dl>
<div class="board">
${panel('bytes', 'Bytes per second', 'wide')}
${panel('tiers', 'Where chunks came from', 'wide')}
${panel('errors', 'Errors', 'full')}
${panel('peers', 'Peers by round-trip time', 'half')}
${panel('window', 'Window and retries', 'half', WINDOW_NOTE)}
${panel('files', 'Files in demand', 'full')}
${DOWNLOADS}
${panel('admission', 'Use by clients, and refusals', 'full')}
${panel('clients', 'Clients and caches', 'half')}
${panel('processes', 'Administration and processes', 'half')}
${policyPanel(policy)}
${SESSIONS}
</div>`,
  });
}

/** Makes the page with the form for the token. @param why the last attempt failed */
export function loginPage(
  edge: string,
  why: 'wrong' | 'too-soon' | undefined,
): Promise<RenderedPage> {
  const texts = {
    wrong: 'That is not the token of this edge.',
    'too-soon': 'Too many wrong tokens: wait a few seconds before the next one.',
  };
  const message = why && html`<p class="note bad" id="wrong" role="alert">${texts[why]}</p>`;
  return renderPage({
    title: `Log in - ${edge}`,
    edge,
    styles: ['log-in.css'],
    script: undefined,
    tools: FRONT,
    main: html`<section class="card log-in"><h1>Dashboard</h1>
<p class="quiet">For operators: it takes the token in the file that <code class="option">--admin-token-file</code> names.</p>
<form method="post" action="/-/dashboard/login">
<input name="user" value="operator" autocomplete="username" hidden>
<label class="field"><span class="label">Administration token</span>
<input class="input" name="token" type="password" required maxlength="1024" autocomplete="current-password"${why && html` aria-invalid="true" aria-describedby="wrong"`}></label>
${message}
<button class="button primary" type="submit">Log in</button>
</form></section>`,
  });
}

/** Makes the page for an edge without a token. */
export function noTokenPage(edge: string): Promise<RenderedPage> {
  return renderPage({
    title: `Dashboard - ${edge}`,
    edge,
    styles: ['log-in.css'],
    script: undefined,
    tools: FRONT,
    main: html`<section class="card log-in"><h1>Dashboard</h1>
<p>This edge has no administration token, so nobody can log in. Its operator sets one with <code class="option">--admin-token-file</code>.</p></section>`,
  });
}

function policyPanel({ served, takesLinks }: Pick<OriginPolicy, 'served' | 'takesLinks'>): Html {
  const links = takesLinks
    ? 'Signed links are accepted: they let through origins that are not listed.'
    : 'Signed links are not accepted.';
  const rows = served.slice(0, MAX_LISTED).map(({ origin, signed, rule }) => {
    const words = [...(signed ? ['By signed links only.'] : []), ...ruleWords(rule)];
    return html`<div><dt><code>${origin === '*' ? 'any public origin' : origin}</code></dt><dd>${words.length === 0 ? 'No rules' : words.join(' ')}</dd></div>`;
  });
  const more = served.length - rows.length;
  return html`<section class="card panel full policy" aria-labelledby="policy-title"><h2 id="policy-title">What is served</h2>
${rows.length === 0 ? html`<p>No origins are listed.</p>` : html`<dl>${rows}</dl>`}
${more > 0 ? html`<p class="quiet">and ${String(more)} more</p>` : undefined}
<p class="quiet">${links}</p></section>`;
}

const RANGE = html`<div class="range"><label>Time <select class="input" id="range">
<option value="minutes">last 5 minutes</option><option value="usual" selected>last 30 minutes</option><option value="day">last 24 hours</option>
</select></label><span class="quiet">Charts and shares are of this time; what is "now" or "since the start" says so.</span></div>`;
const DOWNLOADS = html`<section class="card panel full" aria-labelledby="downloads-title"><h2 id="downloads-title">Downloads</h2>
<div class="downloads-range"><label>Days <select class="input" id="downloads-range">
<option value="1">today</option><option value="7">7 days</option><option value="30" selected>30 days</option><option value="90">90 days</option><option value="400">400 days</option>
</select></label><a id="downloads-csv" href="/-/dashboard/downloads.csv?days=30">Download as CSV</a></div>
<div id="downloads"></div>
<p class="quiet">A download is one client and one file, however many requests it takes; days are those of UTC.</p></section>`;
const SESSIONS = html`<section class="card panel full" aria-labelledby="sessions-title"><h2 id="sessions-title">Sessions</h2>
<p class="quiet">A session ends after 12 hours, or when its user logs out.</p>
<form method="post" action="/-/dashboard/logout"><input name="everywhere" value="yes" hidden><button class="button small" type="submit">Log out everywhere</button></form></section>`;
const FRONT = html`<a href="/">Check a link</a>`;

function panel(id: string, title: string, size: 'wide' | 'half' | 'full', note?: string): Html {
  const about = note === undefined ? '' : html`<p class="note">${note}</p>`;
  return html`<section class="card panel ${size}" aria-labelledby="${id}-title"><h2 id="${id}-title">${title}</h2>${about}<div id="${id}"></div></section>`;
}
