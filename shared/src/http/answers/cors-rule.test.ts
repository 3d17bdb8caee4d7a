import { describe, expect, test } from '@jest/globals';
import { applyCors, CORS_ORIGIN, type CorsRule, corsPreflight } from './cors-rule.ts';

const ALLOW = 'access-control-allow-origin';
const EXPOSE = 'access-control-expose-headers';

function applied(rule: CorsRule, origin?: string, headers: Record<string, string> = {}) {
  const made = { ...headers };
  applyCors(rule, origin, made);
  return made;
}

describe('pages of', () => {
  const list: CorsRule = { origins: ['https://a.example', 'https://*.b.example:8443'] };
  test.each([
    ['https://a.example', true],
    ['HTTPS://A.example', true],
    ['http://a.example', false],
    ['https://a.example:8443', false],
    ['https://a.example.evil.example', false],
    ['https://x.b.example:8443', true],
    ['https://y.x.b.example:8443', true],
    ['https://b.example:8443', false],
    ['https://xb.example:8443', false],
    ['https://x.b.example', false],
    ['http://x.b.example:8443', false],
    ['https://evil.example/.b.example:8443', false],
    ['null', false],
    [undefined, false],
  ])('%s may read files: %s', (origin, may) => {
    const made = applied(list, origin);
    expect(made).toMatchObject({ vary: 'Origin', ...(may ? { [ALLOW]: origin } : {}) });
    expect(Object.keys(made)).toHaveLength(may ? 3 : 1);
    expect(Object.keys(corsPreflight(list, origin))).toHaveLength(may ? 5 : 1);
  });
});

test('the answer depends on the page only where it has to', () => {
  expect(applied({ origins: '*' }, 'https://x.example')).toEqual({
    [ALLOW]: '*',
    [EXPOSE]: expect.stringContaining('content-range'),
  });
  const one: CorsRule = { origins: ['https://a.example'] };
  for (const origin of ['https://a.example', 'https://b.example', undefined]) {
    expect(applied(one, origin)).toEqual({
      [ALLOW]: 'https://a.example',
      [EXPOSE]: expect.stringContaining('etag'),
    });
  }
  const some: CorsRule = { origins: ['https://*.a.example'] };
  expect(applied(some, undefined, { vary: 'Accept' })).toEqual({ vary: 'Accept, Origin' });
  expect(applied(some, undefined, { vary: 'origin' })).toEqual({ vary: 'origin' });
  expect(applied(some, undefined, { vary: '*' })).toEqual({ vary: '*' });
});

test('what the origin says about other sites gives way, credentials with it', () => {
  const said = {
    [ALLOW]: 'https://other.example',
    'access-control-allow-credentials': 'true',
    'timing-allow-origin': '*',
    etag: '"1"',
  };
  const made = applied({ origins: '*', exposeFields: ['x-more', 'etag'] }, undefined, said);
  expect(made).toMatchObject({ [ALLOW]: '*', 'timing-allow-origin': '*', etag: '"1"' });
  expect(made['access-control-allow-credentials']).toBeUndefined();
  const exposed = made[EXPOSE]?.split(', ') ?? [];
  expect(exposed).toContain('x-more');
  expect(exposed.filter((name) => name === 'etag')).toHaveLength(1);
});

test('a preflight allows ranges, conditions and fields of the rule, for the time of the rule', () => {
  const made = corsPreflight(
    { origins: '*', requestFields: ['x-trace'], maxAge: 3_600_500 },
    'null',
  );
  expect(made).toMatchObject({
    [ALLOW]: '*',
    'access-control-allow-methods': 'GET, HEAD',
    'access-control-max-age': '3600',
  });
  const allowed = made['access-control-allow-headers']?.split(', ') ?? [];
  expect(allowed).toEqual(expect.arrayContaining(['range', 'if-none-match', 'x-trace']));
  expect(corsPreflight({ origins: ['https://a.example'] }, 'https://b.example')).toEqual({});
});

test.each(['https://a.example', 'http://localhost:5173', 'https://*.a.example', 'http://[::1]:80'])(
  '%s is an origin of pages',
  (text) => expect(CORS_ORIGIN.test(text)).toBe(true),
);
test.each(['a.example', 'https://a.example/', 'https://*', 'https://a.*', 'null', '*'])(
  '%s is not an origin of pages',
  (text) => expect(CORS_ORIGIN.test(text)).toBe(false),
);
