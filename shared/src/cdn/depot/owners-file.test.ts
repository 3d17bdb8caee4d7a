import { describe, expect, test } from '@jest/globals';
import { formatOwner, isOwnerName, parseLimit, parseOwners } from './owners-file.ts';

const PROOF = 'ab'.repeat(32);
const refused = (detail: RegExp) =>
  expect.objectContaining({ code: 'bad-option', detail: expect.stringMatching(detail) });

describe('the file of owners', () => {
  test('has a line for each, with limits or without, and comments', () => {
    const text = [
      '# who may store files here',
      '',
      formatOwner('alice', PROOF, [
        'bytes=1GiB',
        'each=10MiB',
        'for=30d',
        'count=7',
        'rate=1MiB/s',
      ]),
      `\tbob  sha256:${PROOF}\r`,
    ].join('\n');
    const [alice, bob] = parseOwners(text);
    expect(alice).toEqual({
      ...{ name: 'alice', proof: PROOF, bytes: 2 ** 30, each: 10 * 2 ** 20 },
      ...{ forMs: 30 * 86_400_000, count: 7, rate: 2 ** 20 },
    });
    expect(bob).toMatchObject({ name: 'bob', bytes: Infinity, each: Infinity, rate: Infinity });
  });

  test.each([
    ['a name with a slash', `a/b sha256:${PROOF}`, /^line 1: a name/],
    ['a token in place of its digest', 'alice s3cret', /^line 1: behind the name/],
    ['a name that occurs twice', `a sha256:${PROOF}\na sha256:${PROOF}`, /^line 2: .*twice/],
    ['an unknown limit', `a sha256:${PROOF} size=1`, /^line 1: "size=1" is not a limit/],
    ['a limit without a value', `a sha256:${PROOF} bytes=`, /^line 1: .*size/],
    ['a negative number', `a sha256:${PROOF} count=-1`, /^line 1: .*number/],
    ['a name of an object’s own', `a sha256:${PROOF} constructor=1`, /^line 1: .*not a limit/],
  ])('%s is refused with its line', (_, text, detail) => {
    expect(() => parseOwners(text)).toThrow(refused(detail));
  });

  test('names and limits are checked before a line is made', () => {
    expect(['a', 'a.b-c_9'].every(isOwnerName)).toBe(true);
    expect(['', '.a', 'a b', 'é', 'a'.repeat(65)].some(isOwnerName)).toBe(false);
    expect(() => parseLimit('bytes')).toThrow(refused(/not a limit/));
  });
});
