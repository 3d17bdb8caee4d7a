import { expect, test } from '@jest/globals';
import { autostartEntry } from './desktop-entry.ts';

function execOf(command: string[]): string | undefined {
  return /^Exec=(.*)$/m.exec(autostartEntry(command))?.[1];
}

test('Exec names the program and its arguments', () => {
  expect(execOf(['/opt/Millrace/millrace', '--hidden'])).toBe(
    '"/opt/Millrace/millrace" "--hidden"',
  );
});

test('special characters are quoted as the specification requires', () => {
  expect(execOf(['/a b/100%/$x'])).toBe('"/a b/100%%/\\\\$x"');
  expect(() => autostartEntry(['/a\nExec=evil'])).toThrow(TypeError);
});
