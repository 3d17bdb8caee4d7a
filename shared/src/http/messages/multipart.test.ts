import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { multipart } from './multipart.ts';
import { multipartBoundary } from './multipart-reader.ts';

describe('multipart/byteranges bodies', () => {
  const parts = multipart('SEP', 'application/pdf', 8000);

  test('have the form of RFC 9110 14.6', () => {
    expect(parts.contentType).toBe('multipart/byteranges; boundary=SEP');
    expect(parts.partHeader({ start: 500, end: 1000 })).toBe(
      '\r\n--SEP\r\nContent-Type: application/pdf\r\nContent-Range: bytes 500-999/8000\r\n\r\n',
    );
    expect(parts.end).toBe('\r\n--SEP--\r\n');
  });

  test('have the announced length, whatever the order of their parts', () => {
    const range = fc
      .tuple(fc.nat(7000), fc.integer({ min: 1, max: 1000 }))
      .map(([start, bytes]) => ({ start, end: start + bytes }));
    fc.assert(
      fc.property(fc.array(range), (ranges) => {
        const written = ranges.map((r) => parts.partHeader(r) + 'x'.repeat(r.end - r.start));
        const body = written.join('') + parts.end;
        expect(parts.bodyBytes(ranges)).toBe(body.length);
        expect(parts.bodyBytes([...ranges].reverse())).toBe(body.length);
      }),
    );
  });

  test.each([
    ['multipart/byteranges; boundary=SEP', 'SEP'],
    ['Multipart/ByteRanges;BOUNDARY=SEP', 'SEP'],
    ['multipart/byteranges; charset=x; boundary=SEP ; x=y', 'SEP'],
    ['multipart/byteranges; boundary="a b;c"', 'a b;c'],
    [`multipart/byteranges; boundary=${'x'.repeat(70)}`, 'x'.repeat(70)],
    [undefined, undefined],
    ['', undefined],
    ['multipart/byteranges', undefined],
    ['multipart/byteranges; boundary=', undefined],
    ['multipart/byteranges; boundary=""', undefined],
    ['multipart/byteranges; xboundary=SEP', undefined],
    ['multipart/mixed; boundary=SEP', undefined],
    ['multipart/byterangesx; boundary=SEP', undefined],
    ['text/html; x="multipart/byteranges; boundary=SEP"', undefined],
    [`multipart/byteranges; boundary=${'x'.repeat(71)}`, undefined],
  ])('the boundary in %j is %j', (contentType, boundary) => {
    expect(multipartBoundary(contentType)).toBe(boundary);
  });
});
