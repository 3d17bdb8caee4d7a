import { describe, expect, test } from '@jest/globals';
import { AllowList } from './allow-list.ts';
import { OriginPolicy, type Scope } from './policy.ts';

const check = (entries: string[], url: string, scope: Scope = 'public') =>
  new OriginPolicy(new AllowList(entries)).check(new URL(url), scope);
const refused = (code: string) => expect.objectContaining({ code });

describe('OriginPolicy', () => {
  test('an origin that is listed may be fetched from public addresses', () => {
    expect(check(['*.example.com'], 'https://www.example.com/x')).toBe(false);
    expect(check(['*'], 'http://8.8.8.8/x')).toBe(false);
  });

  test('an origin that is not listed may not, and is named', () => {
    expect(() => check(['example.com'], 'https://other.example:8443/x')).toThrow(
      expect.objectContaining({ code: 'origin-not-allowed', detail: 'other.example:8443' }),
    );
    expect(() => check([], 'https://example.com/')).toThrow(refused('origin-not-allowed'));
  });

  test.each(['http://127.0.0.1/', 'http://[::1]/', 'http://169.254.169.254/', 'http://0x7f.1/'])(
    '%s is reached by a literal entry only',
    (url) => {
      expect(() => check(['*'], url)).toThrow(refused('private-address'));
      expect(check(['*', new URL(url).hostname], url)).toBe(true);
    },
  );

  test('a name that is listed literally may be at a private address', () => {
    expect(check(['nas.local'], 'http://nas.local/')).toBe(true);
    expect(check(['*.local'], 'http://nas.local/')).toBe(false);
  });

  test('whether an address is private is not told about origins that are not listed', () => {
    expect(() => check([], 'http://127.0.0.1/')).toThrow(refused('origin-not-allowed'));
  });

  test('the owner of a local edge reaches everything', () => {
    expect(check([], 'http://192.168.0.1/', 'private')).toBe(true);
    expect(check([], 'https://other.example/', 'private')).toBe(true);
  });

  test('nobody reaches the ports of other protocols', () => {
    for (const entries of [['*'], ['localhost'], ['localhost:25'], []]) {
      for (const scope of ['public', 'private'] as const) {
        expect(() => check(entries, 'http://localhost:25/', scope)).toThrow(
          expect.objectContaining({
            code: 'origin-not-allowed',
            detail: 'port 25 is of another protocol',
          }),
        );
      }
    }
  });
});
