import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { linksInText } from '../request/links-in-text.ts';
import { MAX_EXPANDED, typedLinks } from './typed-links.ts';

const urlsOf = (text: string) => typedLinks(text).links.map(({ url }) => url);

test('a text without commands or patterns has the links that are in it', () => {
  const text = fc.array(
    fc.constantFrom(
      'https://a.example/x',
      ' ',
      '\n',
      '[',
      ']',
      '1',
      '-',
      '(',
      '{a}',
      'http://[::1]/',
    ),
  );
  fc.assert(
    fc.property(text, (parts) => {
      const given = parts.join('');
      fc.pre(!/\[\d+-\d+/.test(given));
      expect(urlsOf(given)).toEqual(linksInText(given).urls);
    }),
  );
});

test('a line with a pattern stands for its URLs, in the place where it is', () => {
  expect(urlsOf('http://h/0\n  http://h/f[09-10].zip\r\nand http://h/{a,b} http://h/1')).toEqual([
    ...['http://h/0', 'http://h/f09.zip', 'http://h/f10.zip'],
    ...['http://h/', 'http://h/1'],
  ]);
  expect(urlsOf('http://[::1]:80/{a,b}')).toEqual(['http://[::1]/a', 'http://[::1]/b']);
});

test('a pattern for too many is named as a problem, and the other lines are read', () => {
  const { links, problems } = typedLinks('http://h/[1-99999]\nhttp://h/x\nhttp://h/[5-1]');
  expect(links).toEqual([{ url: 'http://h/x' }]);
  expect(problems.map(({ detail }) => detail)).toEqual([
    `the pattern stands for more than ${MAX_EXPANDED} URLs`,
    '[5-1] is not a range',
  ]);
  expect(urlsOf('http://h/[1-10000]')).toHaveLength(MAX_EXPANDED);
});

test('a command of curl has its fields, and what cannot be taken is a problem', () => {
  expect(typedLinks("curl 'http://h/a|b#c' -H 'x: y'").links).toEqual([
    { url: 'http://h/a|b', headers: { x: 'y' } },
  ]);
  const { links, problems } = typedLinks('curl -X POST http://h/a');
  expect(links).toEqual([]);
  expect(problems).toMatchObject([
    {
      fault: 'option-method',
      values: { option: '-X', method: 'POST' },
      detail: 'curl -X POST: a download can only GET a file',
    },
  ]);
});
