import { expect, test } from '@jest/globals';
import { ANY_LABEL, asLabel, MAX_LABELS, readLabels } from './labels.ts';

test.each([
  [{}, []],
  [{ 'surrogate-key': '' }, []],
  [{ 'surrogate-key': 'a  B\tc' }, ['a', 'b', 'c']],
  [{ 'surrogate-key': ['a b', 'c'] }, ['a', 'b', 'c']],
  [{ 'cache-tag': 'a, b ,,a' }, ['a', 'b']],
  [{ 'surrogate-key': 'x', 'cache-tag': 'y' }, ['x', 'y']],
])('%j has the labels %j', (fields, labels) => expect(readLabels(fields)).toEqual(labels));

test.each([
  [Array.from({ length: MAX_LABELS + 1 }, (_, i) => `l${i}`).join(' ')],
  ['a'.repeat(129)],
  ['ä'],
  [ANY_LABEL],
])('a file whose labels cannot all be kept is purged with any', (text) => {
  expect(readLabels({ 'surrogate-key': text })).toEqual([ANY_LABEL]);
});

test.each([
  ['Release-42', 'release-42'],
  [' a ', 'a'],
  ['*', undefined],
  ['a b', undefined],
  ['a,b', undefined],
  ['', undefined],
])('"%s" is asked for as %s', (text, label) => expect(asLabel(text)).toBe(label));
