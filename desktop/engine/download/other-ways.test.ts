import { describe, expect, test } from '@jest/globals';
import { RangeSet } from '@millrace/shared/base/byte-range';
import { type ErrorCode, MillraceError } from '@millrace/shared/base/errors';
import type { DownloadSource } from '../sources/download-source.ts';
import { OtherWays } from './other-ways.ts';

/** Returns a source in its state at the end of a way. */
function source(id: string, quarantine?: ErrorCode, givenBytes = 0): DownloadSource {
  const given = new RangeSet([{ start: 0, end: givenBytes }]);
  const health = { quarantine: quarantine && new MillraceError(quarantine) };
  return { id, label: id, given, health } as unknown as DownloadSource;
}

/** Chooses the next way, and lists the sources that it excludes. */
function chosen(code: ErrorCode, sources: readonly DownloadSource[], storedBytes: number) {
  const ways = new OtherWays();
  const text = ways.next(new MillraceError(code), sources, sources[0], storedBytes)?.text;
  return {
    text,
    excluded: sources.filter(({ id }) => ways.excludes(id)).map(({ id }) => id),
    ways,
  };
}

describe('other ways', () => {
  test('a first source that has given nothing lets the others define the file', () => {
    const sources = [source('a', 'malformed-response'), source('b')];
    expect(chosen('malformed-response', sources, 0).excluded).toEqual(['a']);
    expect(chosen('malformed-response', sources, 5).text).toBeUndefined();
    expect(chosen('malformed-response', sources.slice(0, 1), 0).text).toBeUndefined();
  });

  test('a first source that breaks the contract makes room for sources that differed from it', () => {
    const differs = source('c', 'different-file');
    const sources = [source('a', 'wrong-range', 9), source('b', 'wrong-length', 9), differs];
    const { text, excluded, ways } = chosen('wrong-range', sources, 9);
    expect(text).toMatch(/contradicts/);
    expect(excluded).toEqual(['a', 'b']);
    // The ways come to an end.
    expect(ways.next(new MillraceError('wrong-range'), [differs], differs, 9)).toBeUndefined();
    // An expired link says nothing against the file: its stored part stays.
    const expired = [source('a', 'origin-denied', 9), differs];
    expect(chosen('origin-denied', expired, 9).text).toBeUndefined();
    expect(chosen('wrong-range', [source('a', 'wrong-range', 9)], 9).text).toBeUndefined();
  });

  test('a source that gave the wrong file is excluded, and sources that differed from it are asked', () => {
    const sources = [source('a', undefined, 9), source('b', 'different-file')];
    expect(chosen('checksum-mismatch', sources, 0).excluded).toEqual(['a']);
    const known = [source('a', 'wrong-digest', 9), source('b', 'different-file'), source('c')];
    expect(chosen('wrong-digest', known, 0).excluded).toEqual(['a']);
    // No source differed, so all of them have this file.
    expect(chosen('checksum-mismatch', [source('a', undefined, 9)], 0).text).toBeUndefined();
  });

  test('a whole answer that is not the file leaves the other sources, while there are any', () => {
    const ways = new OtherWays();
    const sources = [source('a'), source('b'), source('c', 'wrong-length')];
    const [a, b] = sources;
    const wrong = new MillraceError('checksum-mismatch');
    const proof = { provesWhole: true };
    expect(ways.next(wrong, sources, a, 0, proof)?.text).toMatch(/other sources/);
    expect(['a', 'b', 'c'].map((id) => ways.excludes(id))).toEqual([true, false, false]);
    expect(ways.next(wrong, sources, b, 0, proof)).toBeUndefined();
    // Without a digest of the user nothing shows that another source has another file.
    expect(new OtherWays().next(wrong, sources, a, 0)).toBeUndefined();
  });

  test('sources without ranges or validators are asked for the whole file, one after the other', () => {
    const sources = [
      source('a', 'origin-gone', 9),
      source('b', 'version-unproven'),
      source('c', 'range-ignored'),
    ];
    const { text, excluded, ways } = chosen('origin-gone', sources, 9);
    expect(text).toMatch(/in one piece/);
    expect(excluded).toEqual(['a']);
    const [, b, c] = sources as [DownloadSource, DownloadSource, DownloadSource];
    // In another attempt, the source that was not asked has no failure yet.
    const fresh = source('c');
    const next = ways.next(new MillraceError('version-changed'), [b, fresh], b, 9);
    expect(next?.note).toBe('next-in-one-piece');
    expect([b, fresh].filter(({ id }) => ways.excludes(id))).toEqual([b]);
    expect(ways.next(new MillraceError('version-changed'), [c], c, 9)).toBeUndefined();
  });

  test('a source that gives another file in one piece makes room for the next', () => {
    const sources = [source('a', 'range-ignored', 9), source('b', 'range-ignored')];
    const { ways } = chosen('range-ignored', sources, 9);
    const [a, b] = sources as [DownloadSource, DownloadSource];
    expect(ways.next(new MillraceError('checksum-mismatch'), [a, b], a, 0)).toBeDefined();
    expect(ways.excludes('a') && !ways.excludes('b')).toBe(true);
  });

  test.each<ErrorCode>([
    'disk-full',
    'file-not-writable',
    'interrupted',
    'bad-option',
    'file-exists',
  ])('%s is not the fault of a source', (code) => {
    expect(chosen(code, [source('a', 'origin-gone'), source('b')], 0).text).toBeUndefined();
  });

  describe('with sources whose partial answers break the contract', () => {
    const origin = (quarantine?: ErrorCode): DownloadSource =>
      Object.assign(source('origin', quarantine), { kind: 'origin' as const });
    const mirror = (quarantine?: ErrorCode): DownloadSource =>
      Object.assign(source('mirror', quarantine), { kind: 'mirror' as const });
    const MiB = 1024 * 1024;

    test.each(['wrong-range', 'malformed-response', 'range-ignored'] as const)(
      '%s: the origin is asked for the whole file, once',
      (code) => {
        const ways = new OtherWays();
        const first = origin(code);
        expect(ways.next(new MillraceError(code), [first], undefined, 0)?.text).toMatch(/whole/);
        expect([ways.asksForWhole, ways.excludes('origin')]).toEqual([true, false]);
        expect(ways.next(new MillraceError(code), [first], first, 0)).toBeUndefined();
      },
    );

    test('a file that differs in every answer is asked for as a whole', () => {
      const ways = new OtherWays();
      const first = origin();
      ways.next(new MillraceError('version-changed'), [first], first, 5);
      expect(ways.asksForWhole).toBe(true);
    });

    test('mirrors are asked only if the user’s digest tells whether they have the right file', () => {
      const sources = [origin('origin-gone'), mirror('wrong-range')];
      for (const proves of [false, true]) {
        const ways = new OtherWays();
        ways.next(new MillraceError('origin-gone'), sources, sources[0], 5, { proves });
        expect(ways.asksForWhole).toBe(proves);
        expect(ways.excludes('origin')).toBe(proves);
      }
    });

    test('bytes with a wrong digest are fetched again as a whole if the user gave the digest', () => {
      for (const proves of [false, true]) {
        const ways = new OtherWays();
        const first = origin();
        ways.next(new MillraceError('checksum-mismatch'), [first], first, 900 * MiB, { proves });
        expect(ways.asksForWhole).toBe(proves);
        expect(ways.wrongParts?.code).toBe(proves ? 'checksum-mismatch' : undefined);
      }
    });

    test('a wrong digest is not said to be the fault of the source’s parts, which may be right', () => {
      const noteFor = (code: ErrorCode) => {
        const first = origin(code);
        return new OtherWays().next(new MillraceError(code), [first], first, 5, { proves: true });
      };
      expect(noteFor('checksum-mismatch')).toMatchObject({
        note: 'whole-to-compare',
        text: expect.stringMatching(/do not match the checksum/),
      });
      expect(noteFor('wrong-range')?.text).toMatch(/parts that the source sends cannot be used/);
    });

    test('bytes that differ from the source’s own digest are fetched again from the origin alone', () => {
      const ways = new OtherWays();
      const sources = [origin(), mirror()];
      const error = new MillraceError('checksum-mismatch');
      ways.next(error, sources, sources[0], 9, { isSaid: true });
      expect([ways.asksForWhole, ways.excludes('origin'), ways.excludes('mirror')]).toEqual([
        true,
        false,
        true,
      ]);
    });

    test('a wrong length leads to a whole answer if the right one is known', () => {
      const version = { length: 9, validators: {} };
      const first = Object.assign(origin('wrong-length'), { stated: [version] });
      const ways = new OtherWays();
      ways.noteStated([first]);
      ways.next(new MillraceError('wrong-length'), [first], first, 0);
      expect([ways.asksForWhole, ways.stated]).toEqual([true, [version]]);
    });

    test('an encoded range leads to a whole answer, which can be decoded', () => {
      const first = origin('wrong-encoding');
      const ways = new OtherWays();
      expect(ways.next(new MillraceError('wrong-encoding'), [first], first, 0)).toBeDefined();
    });

    test('much that is stored is not given up for an answer that cannot be resumed', () => {
      const ways = new OtherWays();
      const first = origin('wrong-range');
      expect(ways.next(new MillraceError('wrong-range'), [first], first, 65 * MiB)).toBeUndefined();
      expect(ways.next(new MillraceError('wrong-range'), [first], first, 64 * MiB)).toBeDefined();
    });

    test('a truncated answer is no reason to believe a whole one', () => {
      const first = origin('wrong-length');
      const ways = new OtherWays();
      expect(ways.next(new MillraceError('wrong-length'), [first], first, 0)).toBeUndefined();
    });
  });
});
