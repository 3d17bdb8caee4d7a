/** The page by which somebody without a token uploads a file, by the link of an owner. */

import { html } from './html.ts';
import { renderInlinePage } from './inline-page.ts';
import type { RenderedPage } from './layout.ts';

let page: Promise<RenderedPage> | undefined;

/** Renders the page. It is the same for all links: what they permit is in their fragment. */
export function guestPage(): Promise<RenderedPage> {
  page ??= renderInlinePage({
    title: 'Send a file - Millrace',
    script: 'guest/page.js',
    state: 'loading',
    main: html`<noscript><section class="card"><h1>Send a file</h1>
<p>This page needs its script, and scripts are switched off. Allow them for this page, or use Millrace itself: <code>millrace upload --guest</code> with the link in quotes.</p></section></noscript>
<section class="card">
<h1>Send a file</h1>
<p class="quiet" data-in="ready">Somebody has invited you to send a file. Whoever has this link may do so, in place of you.</p>
<p data-in="loading" role="status">Looking whether the invitation still holds.</p>
<div data-in="ready"><dl id="limits" class="facts">
<div><dt>Up to</dt><dd id="size" class="figures"></dd></div>
<div><dt>Until</dt><dd id="until"></dd></div>
</dl>
<div id="drop" class="drop"><label for="file">Choose a file, or drop it here</label><input type="file" id="file"></div>
<p class="quiet">The server and the person who has invited you can read it: encrypt it first if the server must not.</p></div>
<div data-in="saving"><p id="name" class="cut"></p><progress id="progress" max="1" aria-label="Stored"></progress>
<p class="line"><span id="came" class="figures"></span></p>
<button type="button" id="cancel" class="button">Stop</button></div>
<div data-in="done" role="status"><h2 id="done-title" class="good" tabindex="-1">Sent</h2>
<p>All of it is stored. The person who has invited you has this link to it already:</p>
<pre tabindex="0"><code id="link"></code></pre><button type="button" id="copy" class="button">Copy link</button></div>
<div data-in="failed" role="alert"><h2 id="failure-title" class="bad" tabindex="-1"></h2>
<p id="failure-advice"></p><button type="button" id="again" class="button">Try again</button></div>
</section>
<details class="card" data-in="ready saving done failed"><summary>Use Millrace itself</summary>
<pre tabindex="0"><code id="command"></code></pre></details>`,
  });
  return page;
}
