import { describe, expect, test } from '@jest/globals';
import { MillraceError } from '@millrace/shared/base/errors';
import { whyUnreachable } from './unreachable.ts';

const failed = (...codes: string[]) => {
  const errors = codes.map((code) => Object.assign(new Error(code), { code }));
  const cause = errors.length === 1 ? errors[0] : new AggregateError(errors);
  return new MillraceError('origin-unreachable', 'as it was said', { cause });
};
const told = (error: unknown, addresses = 2) =>
  (whyUnreachable(error, () => addresses) as MillraceError).code;

describe('a server out of reach', () => {
  test.each([
    ['a refused port', ['ECONNREFUSED'], 2, 'origin-refused'],
    ['a refused port of this machine without any network', ['ECONNREFUSED'], 0, 'origin-refused'],
    [
      'a refused port beside an address without a route',
      ['ENETUNREACH', 'ECONNREFUSED'],
      2,
      'origin-refused',
    ],
    ['a name that does not exist', ['ENOTFOUND'], 2, 'origin-unknown'],
    ['a name that cannot be looked up without a network', ['ENOTFOUND'], 0, 'network-away'],
    ['a resolver out of reach', ['EAI_AGAIN'], 2, 'network-away'],
    ['no route at all', ['ENETUNREACH'], 2, 'network-away'],
    ['no route to one host', ['EHOSTUNREACH'], 2, 'origin-unreachable'],
  ])('%s is reported as such', (_what, codes, addresses, code) => {
    expect(told(failed(...codes), addresses)).toBe(code);
  });

  test('keeps the detail and the cause', () => {
    const error = failed('ECONNREFUSED');
    expect(whyUnreachable(error)).toMatchObject({ detail: 'as it was said', cause: error.cause });
  });

  test('leaves other failures unchanged', () => {
    const cause = Object.assign(new Error(), { code: 'ECONNREFUSED' });
    expect(told(new MillraceError('proxy-failed', '', { cause }))).toBe('proxy-failed');
    expect(whyUnreachable('odd')).toBe('odd');
  });
});
