import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type ErrorCode, MillraceError } from '../../base/errors.ts';
import { prospectOfAnswer, prospectOfError } from './pull-prospect.ts';

describe('the prospect of a pull', () => {
  test('is open for a file that is there, and for one that is still being stored', () => {
    for (const status of [200, 206, 409]) {
      expect(prospectOfAnswer(status)).toEqual({ state: 'open' });
    }
  });

  test('is known to be none where the policy or the source refuses, or the source is not reached', () => {
    const stateOf = (code: ErrorCode) => prospectOfError(new MillraceError(code)).state;
    const refusals = ['origin-not-allowed', 'private-address', 'origin-denied'] as const;
    expect(refusals.map(stateOf)).toEqual(['refused', 'refused', 'refused']);
    expect([stateOf('origin-refused'), stateOf('origin-unknown')]).toEqual([
      'unreachable',
      'unreachable',
    ]);
  });

  test('is unknown where the depot or the source is only busy, or fails itself', () => {
    const codes = ['origin-busy', 'too-many-transfers', 'draining', 'internal'] as const;
    for (const code of codes) {
      expect([code, prospectOfError(new MillraceError(code)).state]).toEqual([code, 'unknown']);
    }
    expect([429, 500, 503].map((status) => prospectOfAnswer(status).state)).toEqual([
      ...['unknown', 'unknown', 'unknown'],
    ]);
  });

  test('holds no secret of a link, and is short, whatever the failure says', () => {
    const secret = 's'.repeat(32);
    fc.assert(
      fc.property(fc.string({ maxLength: 2000 }), (words) => {
        const link = `https://a.example/-/d/${'i'.repeat(16)}/${secret}/file`;
        const error = new MillraceError('origin-not-allowed', `${words} ${link} ${words}`);
        const { message = '' } = prospectOfError(error) as { message?: string };
        expect(message).not.toContain(secret);
        expect(message.length).toBeLessThanOrEqual(500);
      }),
    );
  });
});
