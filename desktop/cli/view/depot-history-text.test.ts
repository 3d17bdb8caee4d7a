import { expect, test } from '@jest/globals';
import { historyLines } from './depot-history-text.ts';

test('a depot shows what it is worth, how fast it was, and what it did wrong last', () => {
  const depots: Parameters<typeof historyLines>[0] = [
    { origin: 'https://a.example', at: 0, kept: 3, failed: 0, rate: 2 ** 20, repute: 'good' },
    {
      ...{ origin: 'https://b.example', at: 0, kept: 0, failed: 4, repute: 'bad' },
      ...{ failure: 'lost', failedAt: 86_400_000 },
    },
  ];
  expect(historyLines(depots)).toEqual([
    'https://a.example  good  1 MiB/s',
    'https://b.example  bad  lost or damaged files (1970-01-02)',
  ]);
  expect(historyLines([])).toEqual(['No depot was used yet.']);
});
