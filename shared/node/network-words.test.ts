import { describe, expect, test } from '@jest/globals';
import { detailText } from '../src/base/error-table/particulars.ts';
import { isNotTls, networkDetail } from './network-words.ts';

const networkText = (error: unknown) => detailText(networkDetail(error));

const failed = (code: string, more: object = {}) =>
  Object.assign(new Error('words of a library'), { code, ...more });
/** As Node 24 reports a failed handshake: OpenSSL's reason is only within the message. */
const opensslError = (reason: string) =>
  Object.assign(
    new Error(
      `write EPROTO 40ADE133:error:0A00010B:SSL routines:tls_validate_record_header:${reason}:../deps/x.c:77:\n`,
    ),
    { code: 'EPROTO' },
  );

describe('words for failures of the network', () => {
  test.each([
    [failed('ECONNREFUSED', { address: '10.0.0.5', port: 80 }), 'nothing listens at 10.0.0.5:80'],
    [failed('ECONNREFUSED'), 'nothing listens'],
    [failed('ENOTFOUND', { hostname: 'x.example' }), 'no address is known for x.example'],
    [failed('HPE_INVALID_CONSTANT'), 'it is not HTTP'],
    [failed('CERT_HAS_EXPIRED'), 'it has expired'],
  ])('%s: %s', (error, words) => {
    expect(networkText(error)).toBe(`${words} (${error.code})`);
  });

  test('an unknown failure is named by its code alone', () => {
    expect(networkText(failed('EWHATEVER'))).toBe('EWHATEVER');
  });

  test('a failure without a code keeps its message', () => {
    expect(networkText(new Error('it failed'))).toBe('it failed');
    expect(networkText('odd')).toBe('odd');
    expect(networkText(undefined)).toBe('undefined');
  });

  test.each([
    ['sslv3 alert handshake failure', 'TLS: it shares no encryption with this program'],
    ['tlsv1 alert protocol version', 'TLS: it speaks another version of TLS'],
    ['tlsv1 unrecognized name', 'TLS: it does not know the host name'],
    ['bad ecpoint', 'TLS: the handshake failed'],
  ])('OpenSSL’s "%s" is not shown, wherever Node puts it', (reason, words) => {
    const code = `ERR_SSL_${reason.toUpperCase().replaceAll(' ', '_')}`;
    for (const error of [
      failed('EPROTO', { reason, library: 'SSL routines' }),
      failed(code),
      opensslError(reason),
    ]) {
      expect(networkText(error)).toBe(words);
      expect(isNotTls(error)).toBe(false);
    }
  });

  test.each(['wrong version number', 'packet length too long'])(
    'a server without TLS is recognized by "%s"',
    (reason) => {
      expect(isNotTls(opensslError(reason))).toBe(true);
      expect(isNotTls(failed('EPROTO', { reason, library: 'SSL routines' }))).toBe(true);
      expect(isNotTls(failed('EPROTO', { reason, library: 'another' }))).toBe(false);
    },
  );
});
