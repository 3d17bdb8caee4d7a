import { describe, expect, test } from '@jest/globals';
import { DEPOT_ERRORS } from './error-table/depot-errors.ts';
import { DOWNLOAD_ERRORS } from './error-table/download-errors.ts';
import { EDGE_ERRORS } from './error-table/edge-errors.ts';
import { SOURCE_ERRORS } from './error-table/source-errors.ts';
import {
  asMillraceError,
  ERRORS,
  type ErrorCode,
  type ErrorRow,
  EXIT,
  endsDownload,
  isErrorCode,
  isMillraceError,
  isPassing,
  MillraceError,
} from './errors.ts';

const rows = Object.entries<ErrorRow>(ERRORS) as [ErrorCode, ErrorRow][];

describe('errors', () => {
  test.each(rows)('the row of %s is complete', (code, row) => {
    expect(code).toMatch(/^[a-z]+(-[a-z]+)*$/);
    expect(row.status).toBeGreaterThanOrEqual(400);
    expect(row.status).toBeLessThan(600);
    expect(Object.values(EXIT)).toContain(row.exit);
    expect(row.exit).not.toBe(EXIT.ok);
    expect(row.title).toMatch(/^[A-Z].*[^.]$/);
    expect(row.advice).toMatch(/^[A-Z].*\.$/);
  });

  test('no code stands in two parts of the table, where one would hide the other', () => {
    const parts = [EDGE_ERRORS, DEPOT_ERRORS, SOURCE_ERRORS, DOWNLOAD_ERRORS];
    const codes = parts.flatMap((part) => Object.keys(part));
    expect(codes.sort()).toEqual(rows.map(([code]) => code as string).sort());
  });

  test('no two errors have the same title', () => {
    const titles = rows.map(([, row]) => row.title);
    expect(new Set(titles).size).toBe(titles.length);
  });

  test('errors that tell a client to come back later are retryable', () => {
    const later = rows.filter(([, row]) => row.status === 429 || row.status === 503);
    expect(later.length).toBeGreaterThan(0);
    for (const [code, row] of later) expect([code, row.retryable]).toEqual([code, true]);
  });

  test('each error has the meaning that decisions about it rely on', () => {
    const where = (holds: (row: ErrorRow) => boolean) =>
      rows.flatMap(([code, row]) => (holds(row) ? [code] : []));
    expect(where(isPassing)).toEqual([
      'too-many-transfers',
      'too-many-requests',
      'too-many-origins',
      'too-much-fetched',
      'draining',
      'depot-unreachable',
      'depot-disk-failed',
      'out-of-memory',
      'origin-busy',
      'origin-error',
      'origin-unreachable',
      'origin-refused',
      'origin-unknown',
      'network-away',
      'origin-timeout',
      'origin-reset',
      'proxy-failed',
      'wrong-length',
      'wrong-digest',
    ]);
    // The connection broke, and the answer was sound: the rest is requested at once.
    expect(where(({ again }) => again === 'at once')).toEqual(['origin-timeout', 'origin-reset']);
    // No other source helps.
    expect(where(endsDownload)).toEqual([
      'resolver-failed',
      'file-exists',
      'file-in-use',
      'disk-full',
      'file-not-writable',
      'file-changed',
      'daemon-running',
      'daemon-not-running',
      'daemon-silent',
      'state-unusable',
      'remote-unreachable',
      'queue-full',
      'interrupted',
      'internal',
    ]);
    expect(where(({ bytes }) => bytes === 'dropped')).toEqual([
      'allocation-damaged',
      'wrong-range',
      'wrong-length',
      'wrong-digest',
      'different-file',
      'malformed-response',
      'checksum-mismatch',
      'bad-signature',
    ]);
    // Another link helps.
    expect(where(({ file }) => file === 'gone')).toEqual([
      'no-such-allocation',
      'allocation-expired',
      'content-blocked',
      'origin-not-found',
      'origin-gone',
      'origin-denied',
      'origin-login',
    ]);
    expect(where(({ file }) => file === 'other version')).toEqual([
      'precondition-failed',
      'version-changed',
    ]);
    // The node serves everything else.
    expect(where(({ refuses }) => refuses === 'origin')).toEqual([
      'origin-not-allowed',
      'private-address',
    ]);
    expect(where(({ refuses }) => refuses === 'file')).toEqual([
      'content-type-refused',
      'file-too-large',
      'link-invalid',
      'link-expired',
      'no-signed-links',
    ]);
    // Codes about a node itself: another node may still serve.
    expect(where(({ scope }) => scope === 'node')).toEqual([
      'no-such-page',
      'inside-request-refused',
      'bad-chunk-name',
      'loop-detected',
      'origin-not-allowed',
      'private-address',
      'too-many-transfers',
      'too-many-requests',
      'too-many-origins',
      'too-much-fetched',
      'content-type-refused',
      'file-too-large',
      'link-invalid',
      'link-expired',
      'draining',
      'no-signed-links',
      'pin-refused',
      'allocation-refused',
      'depot-disk-failed',
      'out-of-memory',
      'proxy-failed',
      'proxy-denied',
    ]);
  });

  test('an error whose bytes are dropped is not retried at once', () => {
    for (const [code, { again, bytes }] of rows) {
      if (bytes === 'dropped') expect([code, again]).not.toEqual([code, 'at once']);
    }
  });

  test('only codes of the table are error codes', () => {
    expect(isErrorCode('disk-full')).toBe(true);
    for (const code of ['toString', '', 'x', undefined, 1, {}, { toString: null }]) {
      expect(isErrorCode(code)).toBe(false);
    }
  });

  test('the exit statuses of the command line stay what scripts rely on', () => {
    expect(EXIT).toEqual({
      ok: 0,
      unexpected: 1,
      usage: 2,
      network: 3,
      refused: 4,
      checksum: 5,
      filesystem: 6,
      source: 7,
      partial: 8,
      interrupted: 130,
    });
  });

  test.each(['token-required', 'owner-token-required'] as const)(
    '%s names the option that holds the token',
    (code) => {
      expect(ERRORS[code].advice).toContain('on the command line with --token-file');
    },
  );

  test('the message is the title, followed by the detail if there is one', () => {
    expect(new MillraceError('draining').message).toBe('This edge is shutting down');
    expect(new MillraceError('origin-error', 'it answered 500').message).toBe(
      'The origin answered with an error: it answered 500',
    );
  });

  test('an error keeps its code, its cause and its waiting time', () => {
    const cause = new Error('socket');
    const error = new MillraceError('origin-busy', 'x', { cause, retryAfterMs: 0 });
    expect(error.name).toBe('MillraceError');
    expect(error.code).toBe('origin-busy');
    expect(error.cause).toBe(cause);
    expect(error.retryAfterMs).toBe(0);
    expect(error.row).toBe(ERRORS['origin-busy']);
    expect('cause' in new MillraceError('internal')).toBe(false);
    expect(new MillraceError('internal').retryAfterMs).toBeUndefined();
  });

  test('errors are told apart by their code', () => {
    const error = new MillraceError('bad-url');
    expect(isMillraceError(error)).toBe(true);
    expect(isMillraceError(error, 'bad-url')).toBe(true);
    expect(isMillraceError(error, 'internal')).toBe(false);
    expect(isMillraceError(new Error('bad-url'))).toBe(false);
    expect(isMillraceError({ code: 'bad-url' }, 'bad-url')).toBe(false);
    expect(isMillraceError(undefined)).toBe(false);
  });

  test('an error from outside the table becomes an internal error that names its cause', () => {
    const own = new MillraceError('bad-url');
    expect(asMillraceError(own)).toBe(own);
    const foreign = new TypeError('x is not a function');
    const wrapped = asMillraceError(foreign);
    expect(wrapped.code).toBe('internal');
    expect(wrapped.detail).toBe('x is not a function');
    expect(wrapped.cause).toBe(foreign);
    expect(asMillraceError('just text').detail).toBe('just text');
    expect(asMillraceError(undefined).code).toBe('internal');
  });
});
