import { expect, test } from '@jest/globals';
import { MovingLine } from './moving-line.ts';

function line(isMoving: boolean, columns = 20) {
  const written: string[] = [];
  const write = (text: string | Uint8Array) => written.push(String(text)) > 0;
  return { line: new MovingLine({ write, columns }, isMoving), written };
}

test('is cut to less than the width of its terminal, in columns', () => {
  const { line: moving, written } = line(true, 10);
  moving.draw('0123456789abc');
  moving.draw('漢字漢字漢字');
  expect(written).toEqual(['\r\x1b[K01234567…', '\r\x1b[K漢字漢字…']);
});

test('makes way for lines that stay', () => {
  const { line: moving, written } = line(true);
  moving.draw('50%');
  moving.say('note\x1b[31m');
  moving.clear();
  expect(written.join('')).toBe('\r\x1b[K50%\r\x1b[Knote\u{fffd}[31m\n\r\x1b[K');
});

test('is not drawn where it could not be drawn again', () => {
  const { line: moving, written } = line(false);
  moving.draw('50%');
  moving.say('done');
  moving.clear();
  expect(written).toEqual(['done\n']);
});
