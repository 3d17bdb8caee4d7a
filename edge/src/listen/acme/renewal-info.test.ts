import { X509Certificate } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { certificateId } from './renewal-info.ts';

/** Made with openssl, serial number 87:65:43:21, which DER writes with a zero before it. */
const LEAF = `-----BEGIN CERTIFICATE-----
MIIBiTCCAS+gAwIBAgIFAIdlQyEwCgYIKoZIzj0EAwIwFDESMBAGA1UEAwwJYXV0
aG9yaXR5MB4XDTI2MTEyODA1MjI1OFoXDTM2MTEyNTA1MjI1OFowFzEVMBMGA1UE
AwwMZWRnZS5leGFtcGxlMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE7LHOVMES
ZioQFNw4krONh0IPEAaBP4LM1Cy4HQfexlHe0xdRxv18xZIDvBPuae7Hgfc3ROVo
mJ7thCY95xTt1qNrMGkwFwYDVR0RBBAwDoIMZWRnZS5leGFtcGxlMA4GA1UdDwEB
/wQEAwIHgDAfBgNVHSMEGDAWgBQ0K/+dUxIrBU+keJ2+1jqWVVum2TAdBgNVHQ4E
FgQUP5JgZXyJ7DvJ9Rl15X5Iu1UkmLgwCgYIKoZIzj0EAwIDSAAwRQIgKPDmPZKP
M4cOLoNFkeucXPMwloYleZq40rGgVhCy6zMCIQDaZm9F6/mMyWHD+FeDrJDuxYdV
+JQIYbiIvHypmbPg6g==
-----END CERTIFICATE-----`;

test('a certificate is named by the key of its authority and by its serial number', () => {
  const leaf = new X509Certificate(LEAF);
  // As the command `openssl x509 -ext authorityKeyIdentifier` shows it.
  const key = Buffer.from('342bff9d53122b054fa4789dbed63a96555ba6d9', 'hex').toString('base64url');
  expect(certificateId(leaf)).toBe(`${key}.AIdlQyE`);
});

test('bytes that are no certificate, or a part of one, have no name', () => {
  const { raw } = new X509Certificate(LEAF);
  for (let end = 0; end < raw.length; end++) {
    expect(certificateId({ raw: raw.subarray(0, end) as X509Certificate['raw'] })).toBeUndefined();
  }
});
