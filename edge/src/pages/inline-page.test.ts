import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { MillraceError } from '@millrace/shared/base/errors';
import { html } from './html.ts';
import { renderInlinePage } from './inline-page.ts';
import { joinModules } from './inline-script.ts';
import { problemPage, receivePage } from './receive-page.ts';

/** Joins modules that are given as texts, by their names. */
const joined = (files: Record<string, string>) =>
  joinModules(new URL('file:///d/page.js'), async ({ pathname }) => files[pathname.slice(3)] ?? '');

describe('modules', () => {
  test('become one script, imported ones first, each once', async () => {
    const text = await joined({
      'page.js': "import { a } from './a.js';\nimport { b as c } from './b.js';\nrun(a, c);\n",
      'a.js': "import { b } from './b.js';\nexport const a = b;\n",
      'b.js': '/** Says\n * much. */\nexport function b() {\n  // less\n}\n',
    });
    expect(text).toBe('function b() {\n}\n\nconst a = b;\n\nconst c = b;\nrun(a, c);\n');
  });

  test.each([
    "import a from './a.js';\n",
    'export default 1;\n',
    "export { a } from './a.js';\n",
    'const a = "</script>";\n',
  ])('that cannot be joined are refused: %j', async (text) => {
    await expect(joined({ 'page.js': text })).rejects.toThrow(/cannot be joined|end its script/);
  });
});

describe('a page that is complete by itself', () => {
  const part = (body: string, tag: RegExp) => tag.exec(body)?.[1] ?? '';
  const digest = (text: string) => createHash('sha256').update(text).digest('base64');

  test('is allowed exactly its own script and styles', async () => {
    const { headers, body } = await receivePage();
    const policy = headers['content-security-policy'] ?? '';
    const script = part(body, /<script type="module">([\s\S]*)<\/script>/);
    expect(policy).toContain(`script-src 'sha256-${digest(script)}'`);
    expect(policy).toContain(
      `style-src 'sha256-${digest(part(body, /<style>([\s\S]*)<\/style>/))}'`,
    );
    expect(policy).not.toContain('unsafe');
    expect(headers).toMatchObject({
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
    });
    // Twice the same name at the top would be an error of the whole script, in strict code.
    expect(() => new Function(`'use strict'; { ${script} }`)).not.toThrow();
  });

  test('names no address, so it is the same behind every prefix', async () => {
    const { body } = await receivePage();
    expect(body.match(/ (?:src|href|action)="(?!data:)[^"]*"/g)).toBeNull();
    expect(body.length).toBeLessThan(64 * 1024);
  });

  test('says an error without running anything', async () => {
    const evil = '<script>alert(1)</script>';
    const { headers, body } = await problemPage(new MillraceError('allocation-expired', evil));
    expect(body).not.toContain('<script');
    expect(headers['content-security-policy']).not.toContain('script-src');
    expect(headers['content-security-policy']).not.toContain('connect-src');
    const empty = await renderInlinePage({ title: 'a', main: html`` });
    expect(empty.body).not.toContain('<script');
  });
});
