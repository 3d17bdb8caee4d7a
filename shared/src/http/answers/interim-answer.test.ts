import { expect, test } from '@jest/globals';
import { passedInterim } from './interim-answer.ts';

const URL_OF_ANSWER = 'https://a.example/dir/page.html';
const link = (field: string) => passedInterim(103, { link: field }, URL_OF_ANSWER)?.fields.link;

test.each([
  ['</s.css>; rel=preload; as=style', '<https://a.example/s.css>; rel="preload"; as="style"'],
  ['<s.js>; rel="modulepreload"', '<https://a.example/dir/s.js>; rel="modulepreload"'],
  [
    '<https://b.example>; rel=preconnect; crossorigin, <x>; rel=next',
    '<https://b.example/>; rel="preconnect"; crossorigin',
  ],
  ['<x>; rel="preload next"; as="a b"', '<https://a.example/dir/x>; rel="preload"'],
  ['<javascript:x>; rel=preload', undefined],
  ['<https://edge.example/>; rel=duplicate', undefined],
  ['', undefined],
])('of the hints %s remains %s', (given, passed) => expect(link(given)).toBe(passed));

test('a hint has the fields that describe a file, and none of the message or the web origin', () => {
  const headers = {
    'x-mine': 'test',
    etag: '"1"',
    'set-cookie': 'a=b',
    'content-security-policy': 'x',
    'content-length': '5',
  };
  expect(passedInterim(103, headers, URL_OF_ANSWER)).toEqual({
    status: 103,
    fields: { 'x-mine': 'test' },
  });
});

test('102 has no fields; other interim answers are not passed on', () => {
  expect(passedInterim(102, { 'x-mine': '1' }, URL_OF_ANSWER)).toEqual({ status: 102, fields: {} });
  for (const status of [100, 101, 104, 199]) {
    expect(passedInterim(status, { 'x-mine': '1' }, URL_OF_ANSWER)).toBeUndefined();
  }
  expect(passedInterim(103, {}, URL_OF_ANSWER)).toBeUndefined();
});

test('many links are cut off, not the answer', () => {
  const many = Array.from({ length: 500 }, (_, i) => `</f${i}.css>; rel=preload`).join(', ');
  expect(link(many)?.split(', ')).toHaveLength(32);
});
