import { expect, test } from '@jest/globals';
import { ERRORS, type ErrorCode, MillraceError } from '../../base/errors.ts';
import { MAX_REFUSALS, PolicyRefusals, REFUSAL_MS } from './policy-refusals.ts';

const [FILE, SIBLING] = ['https://one.example/file', 'https://one.example/sibling'];
const ELSEWHERE = 'https://other.example/file';

const refusing = () => {
  const refusals = new PolicyRefusals();
  const refuse = (node: string, code: ErrorCode, now = 0, url = FILE, detail = new URL(url).host) =>
    refusals.onError(node, url, new MillraceError(code, detail), now);
  return { refusals, refuse };
};

test('a node that refuses an origin is avoided for that origin only, and not for ever', () => {
  const { refusals, refuse } = refusing();
  expect(refuse('a', 'origin-not-allowed')).toBe(true);
  expect(refuse('b', 'private-address', 1)).toBe(true);
  for (const url of [FILE, SIBLING]) expect(refusals.nodes(url, 1)).toEqual(['a', 'b']);
  expect(refusals.nodes(ELSEWHERE, 1)).toEqual([]);
  expect(refusals.nodes(FILE, REFUSAL_MS)).toEqual(['b']);
  expect(refusals.nodes(FILE, REFUSAL_MS + 1)).toEqual([]);
});

test('a node that refuses a file by a rule is avoided for that file only', () => {
  const { refusals, refuse } = refusing();
  expect(refuse('a', 'file-too-large')).toBe(true);
  expect(refuse('b', 'content-type-refused')).toBe(true);
  expect(refusals.nodes(FILE, 0)).toEqual(['a', 'b']);
  expect(refusals.nodes(SIBLING, 0)).toEqual([]);
});

test('a refused target of a redirect counts for that file only, or strangers could part nodes', () => {
  const { refusals, refuse } = refusing();
  expect(refuse('a', 'private-address', 0, FILE, '10.0.0.1')).toBe(true);
  expect(refuse('b', 'origin-not-allowed', 0, FILE, 'other.example')).toBe(true);
  expect(refuse('c', 'origin-not-allowed', 0, FILE, 'port 1 is of another protocol')).toBe(true);
  expect(refusals.nodes(FILE, 0)).toEqual(['a', 'b', 'c']);
  expect(refusals.nodes(SIBLING, 0)).toEqual([]);
});

test('errors that say nothing of a policy are no refusals', () => {
  const { refusals, refuse } = refusing();
  const codes = Object.keys(ERRORS) as ErrorCode[];
  const others = codes.filter((code) => ERRORS[code].refuses === undefined);
  expect(others).toContain('draining');
  expect(others).toContain('inside-request-refused');
  for (const code of others) expect([code, refuse('a', code)]).toEqual([code, false]);
  expect(refusals.nodes(FILE, 0)).toEqual([]);
});

test('a refusal that is repeated counts from the last time', () => {
  const { refusals, refuse } = refusing();
  refuse('a', 'origin-not-allowed', 0);
  refuse('a', 'origin-not-allowed', 5);
  expect(refusals.nodes(FILE, REFUSAL_MS)).toEqual(['a']);
});

test('the oldest refusals are forgotten when there are too many', () => {
  const { refusals, refuse } = refusing();
  const url = (i: number) => `https://${i}.example/`;
  for (let i = 0; i <= MAX_REFUSALS; i++) refuse('a', 'origin-not-allowed', 0, url(i));
  expect(refusals.nodes(url(0), 0)).toEqual([]);
  expect(refusals.nodes(url(MAX_REFUSALS), 0)).toEqual(['a']);
});
