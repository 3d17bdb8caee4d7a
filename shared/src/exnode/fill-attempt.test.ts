import { expect, test } from '@jest/globals';
import { afterFailure } from './fill-attempt.ts';

test('a replica that cannot be pulled is fed, and one with wrong bytes is filled anew by the client', () => {
  expect(afterFailure('pull', 0, 'unreachable')).toEqual({ way: 'feed', anew: false });
  expect(afterFailure('pull', 0, 'wrong')).toEqual({ way: 'feed', anew: true });
  // The bytes before may be those of a pull.
  expect(afterFailure('feed', 5, 'wrong')).toEqual({ way: 'feed', anew: true });
  expect(afterFailure('feed', 0, 'wrong')).toBe('depot-failed');
});
