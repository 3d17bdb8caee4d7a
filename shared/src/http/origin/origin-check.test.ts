import { describe, expect, test } from '@jest/globals';
import type { Headers } from '../fields/headers.ts';
import { judgeOrigin, type OriginSighting, type SeenAnswer } from './origin-check.ts';

const AT = Date.UTC(2026, 0, 1);
const LENGTH = 1_000_000;
const GOOD: Headers = {
  date: new Date(AT).toUTCString(),
  'content-type': 'application/octet-stream',
  'content-range': `bytes 0-65535/${LENGTH}`,
  'content-length': '65536',
  etag: '"one"',
  'last-modified': new Date(AT - 86_400_000).toUTCString(),
  'cache-control': 'public, max-age=3600',
};

function answer(changes: Headers = {}, status = 206): SeenAnswer {
  const headers = Object.fromEntries(
    Object.entries({ ...GOOD, ...changes }).filter(([, value]) => value !== undefined),
  );
  return { status, headers, requestedAt: AT, arrivedAt: AT + 40 };
}

const middle = (changes: Headers = {}, status = 206) =>
  answer({ 'content-range': `bytes 500000-565535/${LENGTH}`, ...changes }, status);

/** Judges an origin that is good except for the given changes. */
function judge(changes: Partial<OriginSighting> = {}) {
  const report = judgeOrigin({
    url: 'https://a.example/f.iso',
    hops: [],
    begin: answer(),
    beginAsked: { start: 0, end: 65_536 },
    middle: middle(),
    middleAsked: { start: 500_000, end: 565_536 },
    again: answer({}, 304),
    signed: false,
    ...changes,
  });
  const grades = Object.fromEntries(report.findings.map(({ id, grade }) => [id, grade]));
  return { ...report, grades };
}

/** Judges an origin all of whose answers have these fields. */
const withFields = (changes: Headers) => judge({ begin: answer(changes), middle: middle(changes) });

describe('judgeOrigin', () => {
  test('finds no fault with a good origin', () => {
    expect(judge()).toMatchObject({
      service: 'chunks',
      length: LENGTH,
      grades: {
        'ranges-right': 'good',
        'etag-strong': 'good',
        fresh: 'good',
        revalidates: 'good',
        'type-known': 'good',
        encrypted: 'good',
        'first-byte': 'note',
      },
    });
  });

  test('puts the worst findings first', () => {
    const { findings } = withFields({ 'cache-control': 'no-store', 'content-type': undefined });
    expect(findings.map(({ grade }) => grade).slice(0, 3)).toEqual(['bad', 'limited', 'good']);
  });

  test.each([
    [404, 'not-found'],
    [410, 'gone'],
    [403, 'denied'],
    [401, 'denied'],
    [429, 'busy'],
    [503, 'busy'],
    [500, 'strange-status'],
    [204, 'strange-status'],
  ])('finds no file in an answer %i', (status, id) => {
    const { service, grades } = judge({ begin: answer({}, status) });
    expect([service, grades[id]]).toEqual(['none', 'bad']);
  });
});

describe('ranges', () => {
  test('that are ignored mean that the file is kept as it passes', () => {
    const begin = answer({ 'content-range': undefined, 'content-length': `${LENGTH}` }, 200);
    const { service, length, grades } = judge({ begin, middle: undefined });
    expect([service, length, grades['ranges-ignored']]).toEqual(['streamed', LENGTH, 'limited']);
    const mine = answer({ ...begin.headers, 'cache-control': 'private' }, 200);
    expect(judge({ begin: mine, middle: undefined }).service).toBe('passed-through');
  });

  test.each([
    ['begin elsewhere', { 'content-range': `bytes 1-65536/${LENGTH}` }, 'wrong-range'],
    ['are missing', { 'content-range': undefined }, 'malformed-response'],
    ['have another length', { 'content-length': '5' }, 'wrong-length'],
  ])('that %s cannot be served', (_what, changes, code) => {
    const { service, findings } = judge({ begin: answer(changes) });
    expect(service).toBe('none');
    expect(findings[0]).toMatchObject({ id: 'ranges-wrong', grade: 'bad', values: { code } });
  });

  test('that are right only at the beginning cannot be served', () => {
    const whole = answer({ 'content-range': undefined }, 200);
    const shifted = middle({ 'content-range': `bytes 0-65535/${LENGTH}` });
    for (const wrong of [whole, shifted]) {
      expect(judge({ middle: wrong })).toMatchObject({
        service: 'none',
        grades: { 'ranges-wrong': 'bad' },
      });
    }
  });

  test('whose bodies break off cannot be served', () => {
    expect(judge({ bodyFault: 'wrong-length' }).grades['ranges-wrong']).toBe('bad');
  });

  test('of a file of unknown length, and empty files, are passed through', () => {
    const unknown = judge({ begin: answer({ 'content-range': 'bytes 0-65535/*' }) });
    expect([unknown.service, unknown.grades['length-unknown']]).toEqual([
      'passed-through',
      'limited',
    ]);
    const empty = judge({ begin: answer({ 'content-range': 'bytes */0' }, 416) });
    expect([empty.service, empty.length]).toEqual(['passed-through', 0]);
  });

  test('of an encoded file are not used, but all of it, and those encoded later break it', () => {
    const gzip = { 'content-encoding': 'gzip' };
    const whole = { service: 'streamed', grades: { encoded: 'bad' } };
    expect(withFields(gzip)).toMatchObject(whole);
    const begin = (more: Record<string, string>) =>
      answer({ ...gzip, 'content-range': undefined, ...more }, 200);
    expect(judge({ begin: begin({}) })).toMatchObject({ ...whole, length: 65_536 });
    const secret = begin({ 'cache-control': 'no-store' });
    expect(judge({ begin: secret }).service).toBe('passed-through');
    expect(judge({ middle: middle(gzip) })).toMatchObject({
      service: 'none',
      grades: { encoded: 'bad' },
    });
  });
});

describe('versions', () => {
  const recent = new Date(AT).toUTCString();
  const brief = { 'cache-control': 'no-cache' };
  test.each([
    ['nothing', { etag: undefined, 'last-modified': undefined }, 'version-none', 'streamed'],
    [
      'nothing, and no lifetime',
      { ...brief, etag: undefined, 'last-modified': undefined },
      'version-none',
      'passed-through',
    ],
    ['a date', { etag: undefined }, 'date-only', 'chunks'],
    ['a weak tag and a date', { etag: 'W/"x"' }, 'etag-weak', 'chunks'],
    ['a weak tag', { etag: 'W/"x"', 'last-modified': undefined }, 'etag-weak-only', 'streamed'],
    ['a date of now', { etag: undefined, 'last-modified': recent }, 'date-too-new', 'streamed'],
  ])('told apart by %s', (_what, changes, id, service) => {
    const report = withFields(changes);
    expect([report.service, Object.keys(report.grades)]).toEqual([
      service,
      expect.arrayContaining([id]),
    ]);
  });

  test('that change with every answer cannot be served', () => {
    const { service, grades } = judge({ middle: middle({ etag: '"two"' }) });
    expect([service, grades['version-unstable']]).toEqual(['none', 'bad']);
  });

  test('that the origin does not recognise, and conditions that it ignores, are limits', () => {
    const { service, grades } = judge({ conditionRefused: true, again: answer() });
    expect(service).toBe('chunks');
    expect(grades).toMatchObject({
      'own-version-refused': 'limited',
      'no-revalidation': 'limited',
    });
  });
});

describe('caching', () => {
  test.each([
    ['no-store', 'no-store'],
    ['private, max-age=60', 'private'],
  ])('that %s forbids', (field, id) => {
    const { service, grades } = withFields({ 'cache-control': field });
    expect([service, grades[id]]).toEqual(['passed-through', 'bad']);
  });

  test.each([
    [{ 'set-cookie': 'a=b' }, 'set-cookie'],
    [{ vary: 'Accept-Encoding, Cookie' }, 'vary'],
  ])('that %j prevents', (changes, id) => {
    const { service, grades } = withFields(changes);
    expect([service, grades[id]]).toEqual(['passed-through', 'bad']);
  });

  test.each([
    [{ 'cache-control': 'max-age=5' }, 'fresh-briefly'],
    [{ 'cache-control': 'no-cache' }, 'fresh-never'],
    [{ 'cache-control': undefined }, 'fresh-guessed'],
    [{ 'cache-control': undefined, expires: new Date(AT + 3_600_000).toUTCString() }, 'fresh'],
    [{ vary: 'Accept-Encoding, Origin, User-Agent' }, 'fresh'],
  ])('with %j is possible', (changes, id) => {
    const { service, grades } = withFields(changes);
    expect([service, grades[id] !== undefined]).toEqual(['chunks', true]);
  });
});

describe('other findings', () => {
  const hop = (from: string, to: string) => ({ status: 302, from, to });
  test('redirects are noted; several of them, or one that leaves HTTPS, are a limit', () => {
    const [a, b, plain] = ['https://a.example/', 'https://b.example/', 'http://b.example/'];
    expect(judge({ hops: [hop(a, b)] }).grades.redirects).toBe('note');
    expect(judge({ hops: [hop(a, b), hop(b, a)] }).grades.redirects).toBe('limited');
    expect(judge({ hops: [hop(a, plain)] }).grades['redirect-downgrade']).toBe('limited');
  });

  test('web pages, missing types, plain HTTP and signed links are noted', () => {
    expect(withFields({ 'content-type': 'text/html; charset=utf-8' }).grades['type-page']).toBe(
      'limited',
    );
    expect(withFields({ 'content-type': undefined }).grades['type-missing']).toBe('limited');
    const { grades } = judge({ url: 'http://a.example/f.iso', signed: true });
    expect(grades).toMatchObject({ plain: 'note', 'signed-link': 'limited' });
  });

  test('a header that contradicts itself does not make the check throw', () => {
    const { service } = judge({ begin: answer({ etag: ['"a"', '"b"'] }) });
    expect(service).toBe('none');
  });
});
