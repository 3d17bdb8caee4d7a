import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { generate, generateMetrics, generateRpc, METRICS, README, RPC } from './docs.ts';

test('the README lists the commands, options and errors that the programs have', async () => {
  const readme = readFileSync(README, 'utf8');
  // To mend it: npm run docs
  expect(readme).toBe(await generate(readme));
});

test('METRICS.md lists what an edge measures', async () => {
  const text = readFileSync(METRICS, 'utf8');
  // To mend it: npm run docs
  expect(text).toBe(await generateMetrics(text));
});

test('RPC.md lists the methods that the daemon has', () => {
  const text = readFileSync(RPC, 'utf8');
  // To mend it: npm run docs
  expect(text).toBe(generateRpc(text));
});

test('every test, benchmark and experiment that the README and BENCHMARKS name is there', () => {
  const texts = [README, new URL('../BENCHMARKS.md', import.meta.url)].map((file) =>
    readFileSync(file, 'utf8'),
  );
  const within = (folder: string) => readdirSync(new URL(`../${folder}`, import.meta.url));
  const there: Record<string, (name: string) => boolean> = {
    e2e: (name) => within('e2e/specs').some((file) => file.startsWith(name)),
    sim: (name) => within('e2e/sim/experiments').includes(`${name}.ts`),
    // One file may hold several experiments or benchmarks, whose names begin alike.
    lab: (name) => within('e2e/lab/experiments').some((file) => name.startsWith(file.slice(0, -3))),
    bench: (name) => within('e2e/bench').includes(`${name}.ts`),
  };
  const missing: string[] = [];
  let found = 0;
  for (const text of texts) {
    for (const [command, kind, name] of text.matchAll(
      /npm run (?:-s )?(e2e|sim|lab|bench)(?: --)? (?!-)([\w-]+)/g,
    )) {
      found++;
      if (name !== 'NAME' && there[kind as string]?.(name as string) !== true)
        missing.push(command);
    }
  }
  expect(missing).toEqual([]);
  expect(found).toBeGreaterThan(30);
});

test('every test that SECURITY.md names is in the file that it names', () => {
  const text = readFileSync(new URL('../SECURITY.md', import.meta.url), 'utf8');
  const named = [...text.matchAll(/`([\w./-]+\.test\.ts)`: “([^”]+)”/g)];
  const missing = named.filter(([, path, title]) => {
    const file = new URL(`../${path}`, import.meta.url);
    return !existsSync(file) || !readFileSync(file, 'utf8').includes(title as string);
  });
  expect(missing.map(([whole]) => whole)).toEqual([]);
  // Each attack has one at least.
  const attacks = text
    .split('\n')
    .filter((line) => line.startsWith('| ') && line.includes('.test.ts'));
  expect(named.length).toBeGreaterThanOrEqual(attacks.length);
  expect(attacks.length).toBeGreaterThan(20);
});
