import { describe, expect, test } from '@jest/globals';
import { withGiven } from './given-files.ts';

const document = (name: string) => ({ name, base64: '', files: [] }) as never;

describe('files that are read while the user types', () => {
  test('leave what was typed meanwhile, and what other files have brought', () => {
    const typed = { text: 'http://a.example/typed \n', metalinks: [] };
    const first = withGiven(typed, { text: 'http://a.example/one', metalinks: [document('x')] });
    const both = withGiven(first, { text: 'http://a.example/two\n', metalinks: [document('y')] });
    expect(both.text.split('\n').filter((line) => line !== '')).toEqual(
      ['typed', 'one', 'two'].map((name) => `http://a.example/${name}`),
    );
    expect(both.metalinks).toEqual([document('x'), document('y')]);
  });

  test('begin a text of which there is nothing yet', () => {
    const blank = { text: ' \n', metalinks: [] };
    expect(withGiven(blank, { text: 'http://a.example/', metalinks: [] }).text).toBe(
      'http://a.example/',
    );
    expect(withGiven(blank, { text: '', metalinks: [document('x')] }).text).toBe(blank.text);
  });
});
