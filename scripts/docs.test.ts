import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { generate, generateMetrics, METRICS, README } from './docs.ts';

test('the README lists the commands, options and errors that the programs have', async () => {
  const readme = readFileSync(README, 'utf8');
  // To mend it: node scripts/docs.ts
  expect(readme).toBe(await generate(readme));
});

test('METRICS.md lists what an edge measures', async () => {
  const text = readFileSync(METRICS, 'utf8');
  // To mend it: node scripts/docs.ts
  expect(text).toBe(await generateMetrics(text));
});
