import { expect, test } from '@jest/globals';
import { MillraceError } from './errors.ts';
import { noteOf, noteOfError } from './notes.ts';

test('notes are filled in; what is missing shows', () => {
  expect(noteOf('name-taken', { name: 'a{n}.iso' }).text).toBe(
    'the name is taken: saving as a{n}.iso',
  );
  expect(noteOf('pieces-again').text).toMatch(/^Pieces .*: \{n\}$/);
});

test('the reason is there in English, and as a code', () => {
  const error = new MillraceError('wrong-range', 'asked for 0-1');
  const { text, values } = noteOfError('source-left-out', error, { source: 'a.example' });
  expect(text).toBe(`a.example is no longer used: ${error.message}`);
  expect(values).toMatchObject({ code: 'wrong-range', source: 'a.example' });
});
