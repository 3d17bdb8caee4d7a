/** Pages for people who open a link to a stored file in a browser. */

import type { MillraceError } from '@millrace/shared/base/errors';
import { whyAndWhat } from '@millrace/shared/http/answers/problem';
import { html } from './html.ts';
import { renderInlinePage } from './inline-page.ts';
import type { RenderedPage } from './layout.ts';

let receive: Promise<RenderedPage> | undefined;

/**
 * Renders the page that decrypts a file in the browser. It is the same for all files: the key is in
 * the part of the link that no server is sent, and the browser fetches the rest itself.
 */
export function receivePage(): Promise<RenderedPage> {
  receive ??= renderInlinePage({
    title: 'Encrypted file - Millrace',
    script: 'receive/page.js',
    asks: 'places',
    state: 'loading',
    main: html`<noscript><section class="card"><h1>This file is encrypted</h1>
<p>Your browser decrypts it by a script of this page, and scripts are switched off. Allow them for this page, or use Millrace itself: <code>millrace get</code> with the link in quotes.</p></section></noscript>
<section class="card file" data-in="ready saving done failed loading">
<h1><span id="name">Encrypted file</span></h1>
<dl class="facts" data-in="ready saving done">
<div><dt>Size</dt><dd id="size" class="figures"></dd></div>
<div><dt>Available until</dt><dd id="until"></dd></div>
<div><dt>Encrypted</dt><dd>Only people with the whole link can read it. The servers that store it cannot.</dd></div>
</dl>
<p data-in="loading" role="status">Reading what the link leads to.</p>
<div data-in="ready"><button type="button" id="save" class="button primary wide">Save</button>
<p id="way" class="quiet"></p></div>
<div data-in="saving"><progress id="progress" max="1" aria-label="Received"></progress>
<p class="line"><span id="came" class="figures"></span><span id="speed" class="quiet figures"></span></p>
<button type="button" id="cancel" class="button">Cancel</button></div>
<div data-in="done" role="status"><h2 id="done-title" class="good" tabindex="-1">Received</h2><p id="done-text"></p></div>
<div data-in="failed" role="alert"><h2 id="failure-title" class="bad" tabindex="-1"></h2>
<p id="failure-advice"></p><p id="codes" hidden>The file was stored with parity: <code>millrace get</code> with the link asks all servers again, and rebuilds missing parts.</p>
<p id="failure-detail" class="quiet mono"></p>
<button type="button" id="again" class="button">Try again</button></div>
</section>
<details class="card" data-in="ready saving done failed"><summary>Use Millrace itself</summary>
<p class="quiet">It goes on after an interruption, asks all servers at once, and rebuilds lost parts. In quotes, since the link has a sign that the shell would read:</p>
<pre tabindex="0"><code id="command"></code></pre></details>`,
  });
  return receive;
}

/** Renders the page that says why a link leads to no file. */
export function problemPage(error: MillraceError): Promise<RenderedPage> {
  return renderInlinePage({
    title: `${error.row.title} - Millrace`,
    main: html`<section class="card"><h1>${error.row.title}</h1><p>${whyAndWhat(error)}</p></section>`,
  });
}
