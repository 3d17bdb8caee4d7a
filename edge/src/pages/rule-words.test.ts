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
          fresh: '1h',
          staleWhileRevalidate: '60s',
          staleIfError: '7d',
          dropFields: ['X-Powered-By'],
          addFields: { 'Cache-Control': 'immutable' },
          passAnswers: true,
          ignoreQuery: ['utm_*', 'fbclid'],
          passLabels: true,
          cors: { origins: ['https://app.example'] },
          immutable: ['.deb', '/pool/'],
          sameForAll: true,
          redirectFields: ['X-Repo-Commit'],
          edgeLinks: ['files.example'],
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
    'Files count as current for 1 hour, if their origin lets caches keep them.',
    'For 1 minute after that, clients get them at once, while the origin is asked.',
    'For 7 days after that, clients get them while the origin fails.',
    'Files with these parts of paths never change: .deb, /pool/.',
    expect.stringContaining('the same for all'),
    'Clients get these fields of redirects: x-repo-commit.',
    'Links of pages to these hosts lead through this edge: files.example.',
    'Clients do not get these fields: x-powered-by.',
    'Clients get the labels of files.',
    'The edge sets these fields: cache-control.',
    expect.stringContaining('error page'),
    expect.stringContaining('ignored: utm_*, fbclid;'),
    expect.stringContaining('Pages of https://app.example may read files'),
  ]);
  expect(rule('https://b.example/x')).toEqual([]);
});
