import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { pathReadings } from './path-readings.ts';

describe('the readings of a path', () => {
  test.each(['/', '/a/b.iso', '/a/', '/caf\u00e9', '/a,start=0,end=9'])(
    '%s has only one reading',
    (path) => {
      expect(pathReadings(path)).toEqual([path]);
    },
  );

  test.each([
    ['/pub/..%2fsecret', '/secret'],
    ['/pub/%2e%2e%2Fsecret', '/secret'],
    ['/pub/..%5csecret', '/secret'],
    ['/pub/..%252fsecret', '/secret'],
    ['/pub/%252e%252e%252fsecret', '/secret'],
    ['/pub/..;/secret', '/secret'],
    ['/pub/..;x=1%2fsecret', '/secret'],
    ['/pub/..%c0%afsecret', '/secret'],
    ['/pub/%c0%ae%c0%ae/secret', '/secret'],
    ['/pub//..%2fsecret', '/secret'],
    ['/pub//..%2fsecret', '/pub/secret'],
    ['//secret', '/secret'],
    ['/%73ecret', '/secret'],
    ['/secret;v=1/x', '/secret/x'],
    ['/a%2fb', '/a/b'],
    ['/pub/x%2f..', '/pub/'],
    // After decoding, `..;` is a name for one server and a dot segment for another.
    ['/%73ecret/..;/x', '/secret/..;/x'],
    ['/%73ecret/..;/x', '/x'],
    ['/secret/a/..;/%2e%2e/x', '/secret/a/x'],
  ])('%s may be %s', (path, reading) => {
    expect(pathReadings(path)).toContain(reading);
  });

  test('a path that is encoded too many times has no readings', () => {
    expect(pathReadings('/pub/%25252525252e')).toBeUndefined();
  });

  test('the readings always include the path itself, and all are paths', () => {
    const piece = fc.constantFrom('/', '..', '.', '%2f', '%2e', '%25', ';', '\\', 'a', '%', '%zz');
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const path = `/${pieces.join('')}`;
        const readings = pathReadings(path);
        expect(readings ?? [path]).toContain(path);
        for (const reading of readings ?? []) expect(reading.startsWith('/')).toBe(true);
      }),
    );
  });
});
