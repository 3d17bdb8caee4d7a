/** The front page: what this is and how to use it. Plain HTML, no script, nothing loaded. */

import { formatBytes } from '@millrace/shared/base/units';
import type { Config } from '../config.ts';

/** Renders the page. */
export function frontPage(config: Config): string {
  const origins =
    config.allowOrigin.length === 0
      ? '<p>No origins are served yet: the operator adds them with <code>--allow-origin</code>.</p>'
      : `<ul>${config.allowOrigin.map((o) => `<li><code>${escapeHtml(o === '*' ? 'any public origin' : o)}</code></li>`).join('')}</ul>`;
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Millrace edge ${escapeHtml(config.name)}</title>
<style>
  :root { color-scheme: light dark; --ink: #1c2430; --soft: #5b6675; --line: #d8dee6; --ground: #f7f9fb; --accent: #0b6e8a; }
  @media (prefers-color-scheme: dark) {
    :root { --ink: #e6ebf1; --soft: #9aa6b5; --line: #2d3743; --ground: #12171d; --accent: #56c0dd; }
  }
  body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.6 system-ui, sans-serif; }
  main { max-width: 44rem; margin: 0 auto; padding: 3.5rem 1.25rem; }
  h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .5rem; letter-spacing: -.01em; }
  h2 { font-size: 1rem; margin: 2.25rem 0 .25rem; }
  p { margin: .5rem 0; } .soft { color: var(--soft); }
  a { color: var(--accent); }
  code { font: .875em ui-monospace, monospace; overflow-wrap: anywhere; }
  pre { margin: .75rem 0; padding: .9rem 1rem; border: 1px solid var(--line); border-radius: 8px; overflow-x: auto; }
  ul { padding-left: 1.1rem; margin: .5rem 0; }
</style>
<main>
  <h1>Large files, from a cache near you</h1>
  <p class="soft">This is the Millrace edge <code>${escapeHtml(config.name)}</code>. Put its address before the URL of a
  large file: it fetches the file in pieces of ${formatBytes(config.chunkSize)}, keeps them, and serves them to
  everyone who asks.</p>
  <h2>How</h2>
  <pre><code>http://${escapeHtml(authority(config))}/https://example.com/file.iso</code></pre>
  <p>Browsers, curl, wget and download managers work unchanged: whole files, ranges, resumed downloads.</p>
  <h2>What this edge serves</h2>
  ${origins}
  <h2>For operators</h2>
  <p><a href="/-/status">Status</a> · <a href="/-/metrics">Metrics</a> · <a href="/-/ready">Readiness</a></p>
</main>
</html>
`;
}

function authority(config: Config): string {
  const host = config.host.includes(':') ? `[${config.host}]` : config.host;
  return `${host}:${config.port}`;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
}
