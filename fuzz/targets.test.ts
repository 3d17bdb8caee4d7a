import { readdirSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { mutatedBytes, mutatedJson, mutatedText } from './mutate.ts';
import { runCases, runLongCase } from './run-target.ts';
import { fuzzTarget, hold } from './target.ts';

test('every file of targets is run by a test file beside it', () => {
  const files = readdirSync(new URL('targets/', import.meta.url));
  const targets = files.filter((file) => !file.endsWith('.test.ts')).map((f) => f.slice(0, -3));
  const tests = files.filter((file) => file.endsWith('.test.ts')).map((f) => f.slice(0, -8));
  expect(targets.length).toBeGreaterThan(0);
  expect(tests.sort()).toEqual(targets.sort());
});

test('a fault of one character is found, minimised and shown with its seed', async () => {
  const target = fuzzTarget({
    name: 'faulty',
    cases: mutatedText(['a sound text', 'another one']),
    check: (text) => hold(!text.includes('\0'), 'there is no NUL'),
  });
  const report = await runCases(target, 20_000, 7);
  expect(report).toContain('seed 7');
  expect(report).toContain('--target faulty --seed 7');
  // Minimising leaves one of up to five edits.
  expect(report).toMatch(/\n"(?:a sound text|another one|\\u0000)*"\n|\n".{0,13}\\u0000.{0,13}"\n/);
  expect(report).toContain('does not hold: there is no NUL');
});

test('a found case is tried first, however few random ones follow', async () => {
  const target = fuzzTarget({
    name: 'known',
    cases: fc.constant<string>(''),
    found: ['once wrong'],
    check: (text) => hold(text === '', 'it is empty'),
  });
  expect(await runCases(target, 0, 1)).toContain('case 1');
});

test('a long case that fails is reported with its name', async () => {
  const target = fuzzTarget({
    name: 'long',
    cases: fc.constant<number>(1),
    check: (n) => hold(n === 1, 'it is one'),
    long: { 'two of them': () => 2 },
  });
  expect(await runLongCase(target, 'two of them')).toContain('two of them');
});

test('a fault of an asynchronous reader is found, minimised and shown with its seed', async () => {
  const target = fuzzTarget({
    name: 'faulty-later',
    asynchronous: true,
    cases: mutatedText(['a sound text', 'another one']),
    check: async (text) => {
      await undefined;
      hold(!text.includes('\0'), 'there is no NUL');
    },
    long: { 'a NUL': () => '\0' },
  });
  const report = await runCases(target, 20_000, 7);
  expect(report).toContain('--target faulty-later --seed 7');
  expect(report).toContain('does not hold: there is no NUL');
  expect(await runLongCase(target, 'a NUL')).toContain('a NUL');
});

test('mutations include the seed itself, shorter and longer inputs, and any byte', () => {
  const texts = fc.sample(mutatedText(['{"a":1}']), { numRuns: 3000, seed: 3 });
  expect(texts).toContain('{"a":1}');
  expect(texts.some((text) => text === '')).toBe(true);
  expect(texts.some((text) => text.length > 500)).toBe(true);
  expect(texts.some((text) => !text.isWellFormed())).toBe(true);
  const bytes = fc.sample(mutatedBytes([Buffer.from('abcd')]), { numRuns: 5000, seed: 3 });
  expect(new Set(bytes.flatMap((one) => [...one])).size).toBe(256);
  const values = fc.sample(mutatedJson([{ a: [1, { b: 'x' }] }]), { numRuns: 3000, seed: 3 });
  expect(values).toContainEqual({ a: [1] });
  expect(values).toContainEqual({ a: null });
});
