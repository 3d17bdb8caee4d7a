import { expect, test } from '@jest/globals';
import { OriginRules } from '../policy/origin-rules.ts';
import { ruleWords } from './rule-words.ts';

test('each rule has a sentence, and an origin without rules none', () => {
  const rules = new OriginRules(
    JSON.stringify({
      origins: [
        {
          origin: 'a.example',
          contentTypes: ['video/*', 'application/zip'],
          refuseContentTypes: ['text/html'],
          maxFileSize: '20GiB',
          quota: { bytes: '2TiB', per: '30d' },
          transfers: 500,
          rate: '50MiB/s',
          ignoreNoCache: true,
        },
      ],
    }),
  );
  const rule = (url: string) => ruleWords(rules.check(new URL(url)).rule);
  expect(rule('https://a.example/x')).toEqual([
    'Only files of these types: video/*, application/zip.',
    'No files of these types: text/html.',
    'Files of at most 20 GiB.',
    'At most 2 TiB to all clients together in 30 days.',
    'At most 500 transfers at a time.',
    'At most 50 MiB/s for all transfers together.',
    expect.stringContaining('no-cache'),
  ]);
  expect(rule('https://b.example/x')).toEqual([]);
});
