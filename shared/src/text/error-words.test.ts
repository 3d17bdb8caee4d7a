import { expect, test } from '@jest/globals';
import { ERRORS, type ErrorCode, type ErrorRow } from '../base/errors.ts';
import { ERROR_WORDS, errorWords } from './error-words.ts';
import ownEnglish from './errors-en.json' with { type: 'json' };

test('wherever the advice promises that stored bytes are used, there is another for a file in one piece', () => {
  const promises = /continue|kept|bleibt|geht weiter|läuft von selbst weiter/;
  // Failures of uploads, archives and edges, and of downloads from several sources that serve ranges.
  const others = new Set<string>([
    ...([
      'too-much-fetched',
      'depot-full',
      'offset-mismatch',
      'upload-too-slow',
      'bad-archive',
    ] as const),
    ...(['rest-missing', 'file-lost', 'too-few-depots'] as const),
  ]);
  for (const code of Object.keys(ERRORS) as ErrorCode[]) {
    if (others.has(code)) continue;
    const row: ErrorRow = ERRORS[code];
    const texts = [
      { help: row.advice, onePiece: row.onePiece },
      ERROR_WORDS.en[code],
      ERROR_WORDS.de[code],
    ];
    for (const { help, onePiece } of texts) {
      expect([code, help, promises.test(help)]).toEqual([code, help, onePiece !== undefined]);
      if (onePiece !== undefined) expect(onePiece).not.toMatch(promises);
    }
  }
  const stopped = { code: 'interrupted' };
  expect(errorWords('en', stopped).help).toContain('continues');
  expect(errorWords('en', { ...stopped, onePiece: true }).help).toContain('from the beginning');
});

test('the title of an error is written once: in the table, or where an interface differs from it', () => {
  const twice = Object.entries<{ title?: string; help: string }>(ownEnglish).filter(
    ([code, { title }]) => title === ERRORS[code as ErrorCode].title,
  );
  expect(twice.map(([code]) => code)).toEqual([]);
  const of = (code: ErrorCode) => [ERROR_WORDS.en[code].title, (ERRORS[code] as ErrorRow).title];
  expect(new Set(of('file-exists')).size).toBe(1);
  expect(of('draining')).toEqual(['The edge is shutting down', 'This edge is shutting down']);
});
