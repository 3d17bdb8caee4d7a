import { describe, expect, test } from '@jest/globals';
import { MillraceError } from '@millrace/shared/base/errors';
import { problemReply } from './problem-reply.ts';

describe('problem replies', () => {
  test('are problem documents that no cache may store', () => {
    const { status, headers, body } = problemReply(new MillraceError('origin-error', 'it broke'));
    expect(status).toBe(502);
    expect(headers).toEqual({
      'content-type': 'application/problem+json',
      'content-length': String(Buffer.byteLength(body)),
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    });
    expect(body.endsWith('}\n')).toBe(true);
    expect(JSON.parse(body)).toMatchObject({ code: 'origin-error', reason: 'it broke' });
  });

  test('count bytes, not letters', () => {
    const { headers, body } = problemReply(new MillraceError('bad-url', 'ü😀'));
    expect(headers['content-length']).toBe(String(Buffer.byteLength(body)));
    expect(Buffer.byteLength(body)).toBeGreaterThan(body.length);
  });

  test.each([
    [undefined, undefined],
    [0, '1'],
    [1, '1'],
    [1000, '1'],
    [1001, '2'],
    [600_000, '600'],
  ])('a pause of %j ms is told as Retry-After %j', (retryAfterMs, field) => {
    const { headers } = problemReply(new MillraceError('origin-busy', '', { retryAfterMs }));
    expect(headers['retry-after']).toBe(field);
  });

  test('name the possible methods if another was used', () => {
    const allow = (code: ConstructorParameters<typeof MillraceError>[0]) =>
      problemReply(new MillraceError(code)).headers.allow;
    expect(allow('method-not-allowed')).toBe('GET, HEAD');
    expect(allow('bad-url')).toBeUndefined();
  });

  test('cannot break out of their document, whatever an origin says', () => {
    const { body } = problemReply(new MillraceError('origin-error', '"}\r\n\r\n<script>\0'));
    expect(JSON.parse(body).reason).toBe('"}\r\n\r\n<script>\0');
  });
});
