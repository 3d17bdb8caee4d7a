import { expect, test } from '@jest/globals';
import { nextAttempt } from './fill-attempt.ts';

test('a replica that cannot be pulled is fed, and one with wrong bytes is filled anew by the client', () => {
  expect(nextAttempt('pull', 0, 'unreachable')).toEqual({ way: 'feed', anew: false });
  expect(nextAttempt('pull', 0, 'wrong')).toEqual({ way: 'feed', anew: true });
  // The bytes before may be those of a pull.
  expect(nextAttempt('feed', 5, 'wrong')).toEqual({ way: 'feed', anew: true });
  expect(nextAttempt('feed', 0, 'wrong')).toBe('depot-failed');
});
