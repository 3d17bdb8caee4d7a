import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  AUTH_WINDOW_MS,
  formatAuthentication,
  INSIDE,
  MAX_NONCES,
  parseAuthentication,
  parseClientTag,
  ReplayGuard,
  signedText,
} from './inside-message.ts';

const NONCE = '0123456789abcdef'.repeat(2);
const MAC = 'fedcba9876543210'.repeat(4);
const FIELD = `t=1700000000000, n=${NONCE}, h=${MAC}`;

test('fields of the inside protocol are named in lower case, each name once', () => {
  const all = Object.values(INSIDE);
  expect(new Set(all).size).toBe(all.length);
  for (const name of all) expect(name).toMatch(/^x-[a-z-]+$/);
});

describe('the authentication field', () => {
  test('has its time, nonce and code', () => {
    const authentication = { at: 1700000000000, nonce: NONCE, mac: MAC };
    expect(formatAuthentication(authentication)).toBe(FIELD);
    expect(parseAuthentication(FIELD)).toEqual(authentication);
  });

  test('is read back as it was written', () => {
    const hex = (length: number) => fc.stringMatching(new RegExp(`^[0-9a-f]{${length}}$`));
    fc.assert(
      fc.property(fc.nat(10 ** 14), hex(32), hex(64), (at, nonce, mac) => {
        const authentication = { at, nonce, mac };
        expect(parseAuthentication(formatAuthentication(authentication))).toEqual(authentication);
      }),
    );
  });

  test.each([
    undefined,
    '',
    ` ${FIELD}`,
    `${FIELD} `,
    `${FIELD}\n`,
    `${FIELD}, ${FIELD}`,
    FIELD.replaceAll(', ', ','),
    FIELD.replace('t=1', 't=-1'),
    FIELD.replace('t=1', 't=1.5'),
    FIELD.replace('t=1', 't=0x1'),
    FIELD.replace('t=1700000000000', 't='),
    FIELD.replace('t=1', 't=1000'),
    FIELD.replace('n=0', 'n='),
    FIELD.replace('n=0', 'n=00'),
    FIELD.replace('n=0', 'n=g'),
    FIELD.replace('h=f', 'h='),
    FIELD.replace('h=f', 'h=ff'),
    FIELD.replace('h=f', 'h=F'),
    `n=${NONCE}, t=1700000000000, h=${MAC}`,
  ])('%j is malformed', (value) => {
    expect(parseAuthentication(value)).toBeUndefined();
  });
});

describe('the signed text', () => {
  test('is pinned: nodes of different versions must agree', () => {
    expect(signedText('GET', '/x', ['1', ''], 1700000000000, 'ab')).toBe(
      '3:GET\n2:/x\n1:1\n0:\n13:1700000000000\n2:ab',
    );
  });

  test('two requests that differ anywhere have different texts', () => {
    const part = fc.oneof(
      fc.constantFrom('', 'GET', '1:a', '\n', '0:\n', '1:a\n1:b', '2'),
      fc.string({ maxLength: 6 }),
    );
    const request = fc.tuple(
      part,
      part,
      fc.array(part, { minLength: 3, maxLength: 3 }),
      fc.nat(20),
      part,
    );
    fc.assert(
      fc.property(request, request, (a, b) => {
        const same = signedText(...a) === signedText(...b);
        expect(same).toBe(JSON.stringify(a) === JSON.stringify(b));
      }),
    );
  });

  test('a value cannot move from one field into the next', () => {
    const text = (...fields: string[]) => signedText('GET', '/', fields, 1, 'n');
    const texts = [text('ab', ''), text('a', 'b'), text('', 'ab'), text('a\n1:b', ''), text('ab')];
    expect(new Set(texts).size).toBe(texts.length);
  });
});

describe('ReplayGuard', () => {
  const NOW = 1700000000000;

  test('accepts a request once', () => {
    const guard = new ReplayGuard();
    expect(guard.accept(NOW, 'a', NOW)).toBe(true);
    expect(guard.accept(NOW, 'a', NOW)).toBe(false);
    expect(guard.accept(NOW, 'b', NOW)).toBe(true);
    expect(guard.accept(NOW, 'a', NOW + AUTH_WINDOW_MS)).toBe(false);
  });

  test.each([
    [-AUTH_WINDOW_MS - 1, false],
    [-AUTH_WINDOW_MS, true],
    [AUTH_WINDOW_MS, true],
    [AUTH_WINDOW_MS + 1, false],
  ])('a request whose clock is %d ms off is accepted: %s', (offset, accepted) => {
    expect(new ReplayGuard().accept(NOW + offset, 'a', NOW)).toBe(accepted);
  });

  test('a request that came too early can come again in time', () => {
    const guard = new ReplayGuard();
    expect(guard.accept(NOW + AUTH_WINDOW_MS + 1, 'a', NOW)).toBe(false);
    expect(guard.accept(NOW + AUTH_WINDOW_MS + 1, 'a', NOW + 1)).toBe(true);
    expect(guard.accept(NOW + AUTH_WINDOW_MS + 1, 'a', NOW + 2 * AUTH_WINDOW_MS)).toBe(false);
  });

  test('no request is accepted twice, and every new one in time is accepted once', () => {
    const step = fc.record({
      passed: fc.constantFrom(0, 1, 1000, 15_000, 29_999, 30_000, 30_001),
      offset: fc.integer({ min: -AUTH_WINDOW_MS, max: AUTH_WINDOW_MS }),
      replay: fc.nat(20),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const guard = new ReplayGuard();
        const accepted: { at: number; nonce: string }[] = [];
        let now = NOW;
        for (const [i, { passed, offset, replay }] of steps.entries()) {
          now += passed;
          const old = accepted.at(-1 - replay);
          if (old !== undefined) expect(guard.accept(old.at, old.nonce, now)).toBe(false);
          expect(guard.accept(now + offset, String(i), now)).toBe(true);
          accepted.push({ at: now + offset, nonce: String(i) });
        }
      }),
    );
  });

  test('with too many requests to remember it refuses new ones, until the oldest expire', () => {
    const guard = new ReplayGuard();
    for (let i = 0; i < MAX_NONCES; i++) guard.accept(NOW, String(i), NOW);
    expect(guard.accept(NOW, 'one more', NOW)).toBe(false);
    expect(guard.accept(NOW, '0', NOW)).toBe(false);
    const later = NOW + AUTH_WINDOW_MS;
    expect(guard.accept(later, 'later', later)).toBe(false);
    expect(guard.accept(later + 1, 'later', later + 1)).toBe(true);
    expect(guard.accept(NOW, '0', later + 1)).toBe(false);
  });
});

test('what is no tag of a client is not taken for one', () => {
  expect(parseClientTag('0123456789abcdef')).toBe('0123456789abcdef');
  for (const other of [undefined, '', '0123456789abcde', '0123456789ABCDEF', `${'0'.repeat(16)}\n`])
    expect(parseClientTag(other)).toBeUndefined();
});
