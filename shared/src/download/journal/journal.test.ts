import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { anyUrl } from '../../../testing/draws/any-text.ts';
import {
  formatEntry,
  formatFlushed,
  formatHeader,
  formatProven,
  type JournalEntry,
  type JournalHeader,
  parseJournal,
} from './journal.ts';

const HEADER: JournalHeader = {
  url: 'https://example.com/file.iso',
  length: 1000,
  validators: { etag: '"a"', lastModified: 784111777000, lastModifiedIsStrong: true },
};
const DIGEST = '0123456789abcdef';
const entry = (start: number, end: number): JournalEntry => ({
  range: { start, end },
  digest: DIGEST,
});

const anyEntry = (length: number) =>
  fc
    .tuple(fc.nat(length - 1), fc.nat(), fc.stringMatching(/^[0-9a-f]{16}$/))
    .map(([start, more, digest]): JournalEntry => {
      return { range: { start, end: start + 1 + (more % (length - start)) }, digest };
    });
const anyJournal = fc
  .tuple(anyUrl(), fc.integer({ min: 1, max: 2 ** 40 }), fc.string())
  .chain(([url, length, tag]) =>
    fc.record({
      header: fc.constant<JournalHeader>({ url, length, validators: { etag: `"${tag}"` } }),
      entries: fc.array(anyEntry(length), { maxLength: 10 }),
    }),
  );

describe('the journal', () => {
  test('is text, one value per line', () => {
    expect(formatHeader(HEADER)).toBe(
      '{"millrace":"journal","format":2,"url":"https://example.com/file.iso","length":1000,' +
        '"validators":{"etag":"\\"a\\"","lastModified":784111777000,"lastModifiedIsStrong":true}}\n',
    );
    expect(formatEntry(entry(0, 10))).toBe(`[0,10,"${DIGEST}"]\n`);
  });

  test('reads back everything that was written', () => {
    fc.assert(
      fc.property(anyJournal, ({ header, entries }) => {
        const text = formatHeader(header) + entries.map(formatEntry).join('');
        expect(parseJournal(text)).toEqual({ header, entries, flushed: 0, proven: [] });
      }),
    );
  });

  test('names bytes that have stated digests, and skips lines about others', () => {
    const proven = { range: { start: 10, end: 500 }, by: 'ab'.repeat(16) };
    const lines = [
      formatProven(proven),
      '["proven",10,5000,"abababababababababababababababab"]\n',
      '["proven",10,50,"ab"]\n',
      '["proven",10]\n',
    ];
    const parsed = parseJournal(formatHeader(HEADER) + lines.join('') + formatFlushed(4));
    expect(parsed).toEqual({ header: HEADER, entries: [], flushed: 0, proven: [proven] });
  });

  test('a torn journal keeps the lines before the tear; without its header it is not a journal', () => {
    const entries = [entry(0, 10), entry(10, 20), entry(500, 1000)];
    const first = formatHeader(HEADER);
    const text = first + entries.map(formatEntry).join('');
    for (let at = 0; at <= text.length; at++) {
      const parsed = parseJournal(text.slice(0, at));
      if (at < first.length) expect(parsed).toBeUndefined();
      else {
        const whole = text.slice(first.length, at).split('\n').length - 1;
        expect(parsed).toEqual({
          header: HEADER,
          entries: entries.slice(0, whole),
          flushed: 0,
          proven: [],
        });
      }
    }
  });

  test.each([
    ['all before it', 3, 3],
    ['some of them', 2, 2],
    ['none', 0, 0],
    ['more than there are', 9, 3],
    ['no number', 'x', 0],
  ])('a line says how many entries are flushed to disk: %s', (_, lines, flushed) => {
    const entries = [entry(0, 10), entry(10, 20), entry(20, 30), entry(30, 40)];
    const [last, ...first] = [...entries].reverse().map(formatEntry) as [string, ...string[]];
    const text = formatHeader(HEADER) + first.reverse().join('');
    const line = formatFlushed(lines as number);
    expect(parseJournal(text + line + last)).toMatchObject({ header: HEADER, entries, flushed });
    expect(parseJournal(text + last)?.flushed).toBe(0);
  });

  test('the number of flushed lines includes malformed lines', () => {
    const text = `${formatHeader(HEADER)}${formatEntry(entry(0, 10))}torn\n${formatEntry(entry(10, 20))}`;
    expect(parseJournal(text + formatFlushed(2))?.flushed).toBe(1);
    expect(parseJournal(text + formatFlushed(3))?.flushed).toBe(2);
  });

  test.each([
    ['an empty line', ''],
    ['no JSON', '[0,10,'],
    ['no list', '{"start":0,"end":10}'],
    ['null', 'null'],
    ['too short', '[0,10]'],
    ['an empty stretch', `[10,10,"${DIGEST}"]`],
    ['a stretch backwards', `[10,0,"${DIGEST}"]`],
    ['a negative position', `[-1,10,"${DIGEST}"]`],
    ['half a byte', `[0,1.5,"${DIGEST}"]`],
    ['a stretch past the end', `[0,1001,"${DIGEST}"]`],
    ['positions as text', `["0","10","${DIGEST}"]`],
    ['a position that cannot be counted', `[0,9007199254740992,"${DIGEST}"]`],
    ['no digest', '[0,10,null]'],
    ['a short digest', `[0,10,"${DIGEST.slice(1)}"]`],
    ['a digest in capitals', `[0,10,"${DIGEST.toUpperCase()}"]`],
    ['null bytes', '\0\0\0\0'],
    ['two torn lines in one', `[0,10,"0123[0,10,"${DIGEST}"]`],
  ])('a line with %s loses only its own range', (_, line) => {
    const text = `${formatHeader(HEADER)}${formatEntry(entry(0, 5))}${line}\n${formatEntry(entry(5, 9))}`;
    expect(parseJournal(text)?.entries).toEqual([entry(0, 5), entry(5, 9)]);
  });

  test.each([
    ['nothing', ''],
    ['an entry', formatEntry(entry(0, 10))],
    ['another file', '<html></html>\n'],
    ['null', 'null\n'],
    ['text', '"journal"\n'],
    ['an earlier format', formatHeader(HEADER).replace('"format":2', '"format":1')],
    ['a later format', formatHeader(HEADER).replace('"format":2', '"format":3')],
    ['another kind of record', formatHeader(HEADER).replace('journal', 'session')],
    ['no URL', formatHeader(HEADER).replace('"url"', '"uri"')],
    ['no length', formatHeader(HEADER).replace('1000', 'null')],
    ['half a length', formatHeader(HEADER).replace('1000', '0.5')],
    ['a negative length', formatHeader(HEADER).replace('1000', '-1')],
    ['no validators', formatHeader(HEADER).replace('validators', 'x')],
    ['nothing before an entry', `\n${formatEntry(entry(0, 10))}`],
  ])('a file with %s as its first line is not a journal', (_, line) => {
    expect(parseJournal(line + formatEntry(entry(0, 10)))).toBeUndefined();
  });

  test('an empty file has a journal too', () => {
    const header = { ...HEADER, length: 0, validators: {} };
    expect(parseJournal(formatHeader(header))).toEqual({
      header,
      entries: [],
      flushed: 0,
      proven: [],
    });
  });

  test('whatever the file contains, every range in it lies inside the download', () => {
    const lines = fc.array(fc.oneof(fc.string(), fc.json(), anyEntry(2000).map(formatEntry)));
    const header = fc.oneof(fc.string(), fc.constant(formatHeader(HEADER).trimEnd()));
    fc.assert(
      fc.property(header, lines, (first, rest) => {
        const journal = parseJournal(`${[first, ...rest].join('\n')}\n`);
        for (const { range, digest } of journal?.entries ?? []) {
          expect(range.start).toBeGreaterThanOrEqual(0);
          expect(range.end).toBeGreaterThan(range.start);
          expect(range.end).toBeLessThanOrEqual(journal?.header.length ?? 0);
          expect(digest).toMatch(/^[0-9a-f]{16}$/);
        }
      }),
    );
  });
});

test('a header with a damaged validator is refused: it could be taken for another version', () => {
  const line = formatHeader({ url: 'http://a/', length: 5, validators: { etag: '"a"' } });
  expect(parseJournal(line)).toBeDefined();
  for (const validators of ['[]', '{"etag":7}', '{"lastModified":"5"}', '{"weakEtag":{}}']) {
    expect(parseJournal(line.replace('{"etag":"\\"a\\""}', validators))).toBeUndefined();
  }
});
