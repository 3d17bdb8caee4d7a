import { expect, test } from '@jest/globals';
import { staysInside, targetFault } from './link-target.ts';

/** Returns whether the first of the links stays inside. */
function stays(
  links: Readonly<Record<string, string>>,
  folders: readonly string[] = [],
  root = '',
) {
  const all = new Map(Object.entries(links));
  const [first] = all.keys();
  return staysInside(first as string, root, { folders: new Set(folders), links: all });
}

test('links to files and folders of the archive stay inside, also those to nothing', () => {
  expect(stays({ l: 'a/b' })).toBe(true);
  expect(stays({ 'a/l': '../b/./c' }, ['a', 'b'])).toBe(true);
  expect(stays({ 'a/l': 'b/../c' }, ['a', 'a/b'])).toBe(true);
  expect(stays({ 'a/l': '..' }, ['a'])).toBe(true);
});

test('a link does not lead out, neither by itself nor through others', () => {
  expect(stays({ l: '..' })).toBe(false);
  expect(stays({ 'a/l': '../../x' }, ['a'])).toBe(false);
  const folders = ['d', 'd/e', 'top'];
  // Read as text, the first target would be d/e/z.
  expect(stays({ 'd/e/l': 'up/../z', 'd/e/up': '../..' }, folders)).toBe(false);
  expect(stays({ 'd/e/l': 'up/../z', 'd/e/up': '..' }, folders)).toBe(true);
  expect(stays({ 'd/l': 'one', 'd/one': '../two', two: 'd/../..' }, folders)).toBe(false);
});

test('a link that leads up from an unknown name does not count as inside, whatever its case is', () => {
  // Where case is ignored, UP is up.
  expect(stays({ 'd/e/l': 'UP/../z', 'd/e/up': '../..' }, ['d', 'd/e'])).toBe(false);
});

test('links that lead to each other are refused', () => {
  expect(stays({ a: 'b', b: 'a' })).toBe(false);
});

test('a link of a root may not name what is beside it', () => {
  expect(stays({ 'set/l': '../other' }, ['set'], 'set/')).toBe(false);
  expect(stays({ 'set/a/l': '../b' }, ['set', 'set/a'], 'set/')).toBe(true);
});

test('absolute targets and those with odd characters have a fault', () => {
  for (const target of ['', '/etc/passwd', 'C:x', 'a\\b', 'a\nb', 'a'.repeat(5000)]) {
    expect(targetFault(target)).toMatch(/^its target/);
  }
  expect(targetFault('../a b')).toBeUndefined();
});
