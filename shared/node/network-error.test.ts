import { describe, expect, test } from '@jest/globals';
import { MillraceError } from '../src/base/errors.ts';
import { networkError } from './network-error.ts';

const error = (code: string, message = 'it failed') => Object.assign(new Error(message), { code });

describe('networkError', () => {
  test.each([
    ['ECONNREFUSED', 'origin-unreachable', 'origin-reset'],
    ['ENOTFOUND', 'origin-unreachable', 'origin-reset'],
    ['EAI_AGAIN', 'origin-unreachable', 'origin-reset'],
    ['EHOSTUNREACH', 'origin-unreachable', 'origin-reset'],
    ['CERT_HAS_EXPIRED', 'certificate-invalid', 'certificate-invalid'],
    ['CERT_NOT_YET_VALID', 'certificate-invalid', 'certificate-invalid'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'certificate-invalid', 'certificate-invalid'],
    ['SELF_SIGNED_CERT_IN_CHAIN', 'certificate-invalid', 'certificate-invalid'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'certificate-invalid', 'certificate-invalid'],
    ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'certificate-invalid', 'certificate-invalid'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'certificate-invalid', 'certificate-invalid'],
    ['INVALID_PURPOSE', 'certificate-invalid', 'certificate-invalid'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'no-tls', 'origin-reset'],
    ['ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE', 'origin-unreachable', 'origin-reset'],
    ['ECONNRESET', 'origin-reset', 'origin-reset'],
    ['EPIPE', 'origin-reset', 'origin-reset'],
    ['UND_ERR_SOCKET', 'origin-reset', 'origin-reset'],
    ['ETIMEDOUT', 'origin-timeout', 'origin-timeout'],
    ['UND_ERR_CONNECT_TIMEOUT', 'origin-timeout', 'origin-timeout'],
    ['UND_ERR_HEADERS_TIMEOUT', 'origin-timeout', 'origin-timeout'],
    ['UND_ERR_BODY_TIMEOUT', 'origin-timeout', 'origin-timeout'],
    ['HPE_INVALID_CONSTANT', 'malformed-response', 'malformed-response'],
    ['UND_ERR_HEADERS_OVERFLOW', 'malformed-response', 'malformed-response'],
    ['UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'malformed-response', 'origin-reset'],
  ])('%s is %s, and %s once the answer has begun', (code, before, after) => {
    expect(networkError(error(code), false).code).toBe(before);
    expect(networkError(error(code), true).code).toBe(after);
  });

  test('the detail is in plain words, and the words of libraries stay in the cause', () => {
    const cause = error('ENOTFOUND', 'getaddrinfo ENOTFOUND x');
    const told = networkError(cause, false);
    expect(told).toMatchObject({ detail: 'no address is known (ENOTFOUND)', cause });
    expect(networkError('odd', false).detail).toBe('odd');
  });

  test('a server without TLS is not "wrong version number"', () => {
    const text = 'write EPROTO 00A8:error:0A:SSL routines:x:wrong version number:../x.c:354:';
    expect(networkError(error('EPROTO', text), false)).toMatchObject({
      code: 'no-tls',
      detail: '',
    });
  });

  test('an error of the table is kept, even if it is wrapped', () => {
    const own = new MillraceError('private-address');
    expect(networkError(own, true)).toBe(own);
    expect(networkError(new Error('lookup', { cause: own }), false)).toBe(own);
  });

  test('if several addresses were tried, the first failure counts', () => {
    const all = new AggregateError([error('ETIMEDOUT'), error('ECONNREFUSED')]);
    expect(networkError(all, false).code).toBe('origin-timeout');
    expect(networkError(new AggregateError([]), false).code).toBe('origin-unreachable');
  });

  test('the cause is kept for the log', () => {
    const cause = error('ECONNREFUSED');
    expect(networkError(cause, false).cause).toBe(cause);
  });
});
