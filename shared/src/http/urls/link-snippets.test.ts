import { spawnSync } from 'node:child_process';
import { describe, expect, test } from '@jest/globals';
import { htmlText, linkSnippets, shellQuoted } from './link-snippets.ts';

const texts = (name: string, prefixed = 'http://edge/https://a/f?x=1&y=2') =>
  Object.fromEntries(
    linkSnippets({ prefixed, metalink: 'http://edge/-/metalink/f.meta4?link=x', name }).map(
      ({ id, text }) => [id, text],
    ),
  );

describe('linkSnippets', () => {
  test('gives the link in all forms in which publishers share it', () => {
    expect(texts('f.iso')).toEqual({
      link: 'http://edge/https://a/f?x=1&y=2',
      markdown: '[f.iso](<http://edge/https://a/f?x=1&y=2>)',
      html: '<a href="http://edge/https://a/f?x=1&#38;y=2">f.iso</a>',
      wget: "wget -c -O f.iso 'http://edge/https://a/f?x=1&y=2'",
      curl: "curl -fL -C - -o f.iso 'http://edge/https://a/f?x=1&y=2'",
      aria2: "aria2c -c -x 8 -s 8 -o f.iso 'http://edge/https://a/f?x=1&y=2'",
      millrace: "millrace get 'http://edge/-/metalink/f.meta4?link=x'",
      metalink: 'http://edge/-/metalink/f.meta4?link=x',
    });
  });

  test('escapes names, so that they cannot break out', () => {
    const { html, markdown, wget } = texts('<script>$(reboot)`x`]("\'');
    expect(html).not.toContain('<script>');
    expect(markdown).toContain('\\<script\\>');
    expect(wget).toContain("'<script>$(reboot)`x`](\"'\\'''");
  });
});

describe('shellQuoted', () => {
  test('makes one word for a real shell of any text', () => {
    const words = [
      "it's",
      '$(echo no)',
      '`id`',
      'a b',
      '"',
      '\\',
      '*',
      '',
      '-rf',
      'a\nb',
      '!x',
      '~',
    ];
    const script = `printf '%s\\0' ${words.map(shellQuoted).join(' ')}`;
    const { stdout } = spawnSync('sh', ['-c', script], { encoding: 'utf8' });
    expect(stdout.split('\0').slice(0, -1)).toEqual(words.map((w) => (w === '-rf' ? './-rf' : w)));
  });
});

describe('htmlText', () => {
  test('escapes special characters, for text and for attributes', () => {
    expect(htmlText(`<a b='"&">`)).toBe('&#60;a b=&#39;&#34;&#38;&#34;&#62;');
  });
});
