import { describe, expect, test } from '@jest/globals';
import { MillraceError } from '@millrace/shared/base/errors';
import { loadAssets, withSystemTheme } from './assets.ts';
import { html } from './html.ts';
import { renderPage } from './layout.ts';
import { publisherPage } from './publisher-page.ts';

describe('html', () => {
  test('escapes all values but HTML', () => {
    const list = ['<i>', html`<b>${'&'}</b>`, undefined, 3];
    expect(html`<p a="${'"'}">${list}</p>`.toString()).toBe(
      '<p a="&#34;">&#60;i&#62;<b>&#38;</b>3</p>',
    );
  });
});

describe('assets', () => {
  test('have the dark colours of the app on systems that are dark', async () => {
    const { files } = await loadAssets();
    const tokens = files.get('tokens.css')?.body.toString() ?? '';
    expect(tokens).toMatch(
      /@media \(prefers-color-scheme: dark\) \{\s*:root \{[^}]*--ground: #11161b/,
    );
    for (const { body } of files.values())
      expect(body.toString()).not.toContain('data-theme="dark"');
    expect(withSystemTheme('a{}')).toBe('a{}');
  });

  test('are files for browsers only', async () => {
    const { files, folder } = await loadAssets();
    expect(folder).toMatch(/^\/-\/assets\/[A-Za-z0-9_-]{16}\/$/);
    expect([...files.keys()].filter((name) => !/\.(css|js|svg)$/.test(name))).toEqual([]);
  });
});

test('a page escapes all words of strangers', async () => {
  const evil = '"><script>alert(1)</script>';
  const page = await publisherPage({
    edge: 'e',
    base: 'http://e',
    served: [{ origin: evil, signed: true }],
    presets: [],
    takesLinks: true,
    chunkBytes: 1024,
    edges: [{ name: evil, healthy: false }],
    typed: evil,
    outcome: undefined,
  });
  expect(page.body).not.toContain('<script>');
  const failed = await publisherPage({
    edge: 'e',
    base: 'http://e',
    served: [],
    presets: [],
    takesLinks: true,
    chunkBytes: 1024,
    edges: [],
    typed: evil,
    outcome: {
      kind: 'checked',
      url: evil,
      name: evil,
      metalinkPath: '/',
      snippets: [],
      rules: [evil],
      signing: evil,
      result: {
        kind: 'failed',
        error: new MillraceError('origin-unreachable', evil),
        hops: [{ status: 302, from: evil, to: evil }],
      },
    },
  });
  expect(failed.body).not.toContain('<script>');
});

test('a page loads scripts and styles by a nonce of its own, which no file of a stranger has', async () => {
  const parts = { title: 't', edge: 'e', styles: ['log-in.css'], script: 'dashboard.js' };
  const pages = await Promise.all([1, 2].map(() => renderPage({ ...parts, main: html`` })));
  const nonces = pages.map(({ headers, body }) => {
    const policy = headers['content-security-policy'] ?? '';
    const nonce = /script-src 'nonce-([A-Za-z0-9_-]{22})';/.exec(policy)?.[1];
    expect(policy).toContain(`style-src 'nonce-${nonce}';`);
    const loaded = body.match(/<script[^>]*>|<link rel="stylesheet"[^>]*>/g) ?? [];
    expect(loaded).toHaveLength(5);
    for (const tag of loaded) expect(tag).toContain(`nonce="${nonce}"`);
    return nonce;
  });
  expect(nonces[0]).not.toBe(nonces[1]);
});
