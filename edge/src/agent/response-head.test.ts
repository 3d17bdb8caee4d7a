import { describe, expect, test } from '@jest/globals';
import type { Answer } from '@millrace/shared/http/answers/answer';
import type { FileVersion } from '../files/file-version.ts';
import { responseHead } from './response-head.ts';

const CHUNK = 100;
const FIELDS = {
  'content-type': 'text/plain',
  'content-disposition': 'attachment',
  'cache-control': 'max-age=60',
  etag: '"a"',
  expires: 'Sun, 06 Nov 1994 08:49:37 GMT',
  'last-modified': 'Sun, 06 Nov 1994 08:49:37 GMT',
};

function head(answer: Answer, version: Partial<FileVersion> = {}) {
  const file = {
    url: 'https://example.com/f',
    scope: 'public' as const,
    length: 250,
    validators: { etag: '"a"' },
    tag: 'e.a',
    fields: FIELDS,
    ...version,
  };
  return responseHead(answer as Parameters<typeof responseHead>[0], file, CHUNK, () => 'SEP');
}
const ranges = (outOfOrder: boolean, ...pairs: [number, number][]): Answer => ({
  kind: 'ranges',
  ranges: pairs.map(([start, end]) => ({ start, end })),
  outOfOrder,
});

describe('response head', () => {
  test('the whole file: the fields of the origin, its length, and that ranges are possible', () => {
    const { status, headers, body } = head({ kind: 'whole' });
    expect(status).toBe(200);
    expect(headers).toEqual({ ...FIELDS, 'accept-ranges': 'bytes', 'content-length': '250' });
    expect([body?.slices.count, body?.inOrder, body?.parts]).toEqual([3, true, undefined]);
  });

  test('a Link field of another node or an old record is rebuilt in every form of answer', () => {
    const mirror = '<https://m.example/f>; rel="duplicate"';
    const edge = '<https://edge.example/>; rel="https://millrace.dev/rel/edge"';
    const mixed = { ...FIELDS, link: `${edge}, ${mirror}` };
    const evil = { ...FIELDS, link: edge };
    for (const answer of [
      { kind: 'whole' } as const,
      ranges(false, [50, 150]),
      ranges(false, [0, 10], [50, 60]),
      ranges(true, [0, 250]),
    ]) {
      for (let again = 0; again < 2; again++) {
        expect(head(answer, { fields: mixed }).headers.link).toBe(mirror);
        expect(head(answer, { fields: evil }).headers).not.toHaveProperty('link');
      }
    }
    expect(head({ kind: 'not-modified' }, { fields: mixed }).headers).not.toHaveProperty('link');
  });

  test('an empty file has a length and nothing to send', () => {
    const { status, headers, body } = head({ kind: 'whole' }, { length: 0 });
    expect([status, headers['content-length'], body?.slices.count]).toEqual([200, '0', 0]);
  });

  test('a file without a type is sent as bytes', () => {
    const { headers } = head({ kind: 'whole' }, { fields: {} });
    expect(headers['content-type']).toBe('application/octet-stream');
  });

  test('one range: its position and its length', () => {
    const { status, headers, body } = head(ranges(false, [50, 150]));
    expect(status).toBe(206);
    expect(headers).toEqual({
      ...FIELDS,
      'accept-ranges': 'bytes',
      'content-range': 'bytes 50-149/250',
      'content-length': '100',
    });
    expect([body?.slices.count, body?.inOrder, body?.parts]).toEqual([2, true, undefined]);
    expect(body?.slices.at(0).range).toEqual({ start: 50, end: 100 });
  });

  test('several ranges: parts in their order, of the origin’s type, and the total length', () => {
    const { status, headers, body } = head(ranges(false, [200, 250], [0, 10]));
    expect(status).toBe(206);
    expect(headers['content-type']).toBe('multipart/byteranges; boundary=SEP');
    expect(headers['content-range']).toBeUndefined();
    const first = body?.parts?.partHeader({ start: 200, end: 250 }) ?? '';
    const second = body?.parts?.partHeader({ start: 0, end: 10 }) ?? '';
    expect(first).toContain('Content-Type: text/plain\r\nContent-Range: bytes 200-249/250');
    const length = first.length + 50 + second.length + 10 + (body?.parts?.end.length ?? 0);
    expect(headers['content-length']).toBe(String(length));
    expect(headers['preference-applied']).toBeUndefined();
    expect(body?.inOrder).toBe(true);
    expect(body?.slices.at(0).range).toEqual({ start: 200, end: 250 });
  });

  test('in any order: a part for each chunk, even for a single range, and no length', () => {
    const { status, headers, body } = head(ranges(true, [0, 250]));
    expect(status).toBe(206);
    expect(headers['content-type']).toBe('multipart/byteranges; boundary=SEP');
    expect(headers['preference-applied']).toBe('delivery=out-of-order');
    expect(headers['content-length']).toBeUndefined();
    expect(headers['content-range']).toBeUndefined();
    expect([body?.slices.count, body?.inOrder]).toEqual([3, false]);
  });

  test('not modified: the fields that a cache needs, and no body', () => {
    expect(head({ kind: 'not-modified' })).toEqual({
      status: 304,
      headers: { 'cache-control': 'max-age=60', etag: '"a"', expires: FIELDS.expires },
      body: undefined,
    });
    expect(head({ kind: 'not-modified' }, { fields: {} }).headers).toEqual({});
  });

  test('not modified: pages of other sites may read it as they may read the file', () => {
    const fields = { 'access-control-allow-origin': '*' };
    expect(head({ kind: 'not-modified' }, { fields }).headers).toEqual(fields);
    expect(head({ kind: 'whole' }, { fields }).headers).toMatchObject(fields);
  });

  test('the fields of the version are not touched', () => {
    const fields = Object.freeze({ ...FIELDS });
    for (const answer of [{ kind: 'whole' } as const, ranges(true, [0, 250])])
      head(answer, { fields });
    expect(fields).toEqual(FIELDS);
  });
});
