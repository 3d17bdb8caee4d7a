import { describe, expect, test } from '@jest/globals';
import type { Headers } from '../fields/headers.ts';
import {
  asksForFile,
  crossOriginFields,
  isPreflight,
  preflightFields,
  withoutCrossOrigin,
} from './cross-origin.ts';

const ALLOW = 'access-control-allow-origin';
const allowed = (value: string, others: Headers = {}) =>
  crossOriginFields({ ...others, [ALLOW]: value })[ALLOW];

describe('fields for pages of other sites', () => {
  test('are passed on where they say the same to everybody', () => {
    const fields = {
      [ALLOW]: '*',
      'access-control-expose-headers': 'Content-Range, ETag',
      'timing-allow-origin': 'https://a.example, https://b.example:8443',
      'cross-origin-resource-policy': 'cross-origin',
    };
    const others = { 'access-control-allow-credentials': 'true', 'access-control-max-age': '5' };
    expect(crossOriginFields({ ...fields, ...others, etag: '"x"' })).toEqual(fields);
    expect(crossOriginFields({})).toEqual({});
  });

  test.each(['*', 'https://a.example', 'http://A.example:8080', 'http://[::1]:80', ' * '])(
    'allow %j',
    (value) => {
      expect(allowed(value)).toBe(value.trim());
    },
  );

  test.each([
    ...['null', '', '*, *', 'https://a.example, https://b.example', 'https://*.a.example'],
    ...['https://a.example/', 'file://a', 'a.example', 'https://a.example:x', '**'],
    `https://${'a'.repeat(1100)}.example`,
  ])('do not allow %j', (value) => {
    expect(allowed(value)).toBeUndefined();
  });

  test('name no page if the answer may name another one', () => {
    for (const vary of ['Origin', 'Accept-Encoding, origin', '*']) {
      expect(allowed('https://a.example', { vary })).toBeUndefined();
      expect(allowed('*', { vary })).toBe('*');
    }
    expect(allowed('https://a.example', { vary: 'Accept-Encoding' })).toBe('https://a.example');
  });

  test('are bounded, and of their own form', () => {
    const of = (name: string, value: string) => crossOriginFields({ [name]: value })[name];
    expect(of('access-control-expose-headers', `${'x, '.repeat(341)}x`)).toHaveLength(1024);
    expect(of('access-control-expose-headers', `${'x, '.repeat(342)}x`)).toBeUndefined();
    expect(of('access-control-expose-headers', '*')).toBe('*');
    expect(of('access-control-expose-headers', 'a b')).toBeUndefined();
    expect(of('timing-allow-origin', 'null')).toBeUndefined();
    expect(of('cross-origin-resource-policy', 'same-site')).toBe('same-site');
    expect(of('cross-origin-resource-policy', 'anybody')).toBeUndefined();
  });

  test('can be taken out of a header', () => {
    expect(withoutCrossOrigin({ [ALLOW]: '*', etag: '"x"' })).toEqual({ etag: '"x"' });
  });
});

describe('a preflight', () => {
  const asks = { origin: 'https://a.example', 'access-control-request-method': 'GET' };

  test('is an OPTIONS of a page that names a method', () => {
    expect(isPreflight('OPTIONS', asks)).toBe(true);
    expect(isPreflight('GET', asks)).toBe(false);
    expect(isPreflight('OPTIONS', { ...asks, origin: undefined })).toBe(false);
    expect(isPreflight('OPTIONS', { origin: 'https://a.example' })).toBe(false);
  });

  test('asks for a file with GET and HEAD alone', () => {
    const of = (method: string) => asksForFile({ 'access-control-request-method': method });
    expect(['GET', 'HEAD', 'PUT', 'get', 'GET, PUT'].map(of)).toEqual([
      ...[true, true],
      ...[false, false, false],
    ]);
  });

  test('is allowed ranges and conditions of a file that the page may read', () => {
    const fields = preflightFields({ [ALLOW]: 'https://a.example', etag: '"x"' });
    expect(fields).toMatchObject({
      [ALLOW]: 'https://a.example',
      'access-control-allow-methods': 'GET, HEAD',
      'access-control-max-age': '600',
    });
    const names = fields['access-control-allow-headers']?.split(', ');
    expect(names).toEqual(expect.arrayContaining(['range', 'if-range', 'millrace-digest']));
    for (const secret of ['authorization', 'cookie', 'x-millrace-token', '*']) {
      expect(names).not.toContain(secret);
    }
  });

  test('is allowed nothing of a file whose origin allows nothing', () => {
    const silent = {
      'access-control-allow-headers': '*',
      'cross-origin-resource-policy': 'cross-origin',
    };
    expect(preflightFields(silent)).toEqual({});
    const varies = { [ALLOW]: 'https://a.example', vary: 'Origin' };
    expect(preflightFields(varies)).toEqual({});
  });
});
