import { describe, expect, test } from '@jest/globals';
import {
  type Exposure,
  type ExposureOptions,
  exposureOf,
  isOriginOf,
  namesHost,
} from './exposure.ts';

const NONE: ExposureOptions = {
  host: undefined,
  publicUrl: undefined,
  allowedHosts: [],
  tlsCert: undefined,
  tlsKey: undefined,
  proxies: [],
};
const NAS = { ...NONE, host: '0.0.0.0', publicUrl: 'https://NAS.example/' };
const TLS = { tlsCert: 'cert.pem', tlsKey: 'key.pem' };

describe('a daemon for other machines', () => {
  test('is one only if an address is given', () => {
    expect(exposureOf(NONE)).toBeUndefined();
  });

  test.each<[string, Partial<ExposureOptions>, RegExp]>([
    ['without the address that users type', { publicUrl: undefined, ...TLS }, /--public-url/],
    ['without TLS', {}, /needs encryption/],
    ['with http', { publicUrl: 'http://nas.example', ...TLS }, /is not an address such as https/],
    ['with a path', { publicUrl: 'https://nas.example/x', ...TLS }, /is not an address/],
    ['with a password', { publicUrl: 'https://a:b@nas.example', ...TLS }, /is not an address/],
    ['with half a certificate', { tlsCert: 'cert.pem' }, /needed together/],
    ['with two ends of TLS', { ...TLS, proxies: ['10.0.0.1'] }, /only one of them/],
    ['with a URL for a name', { ...TLS, allowedHosts: ['https://x'] }, /is not a name/],
    ['with a name that ends in a user', { ...TLS, allowedHosts: ['a@b'] }, /is not a name/],
  ])('does not start %s', (_, more, words) => {
    expect(() => exposureOf({ ...NAS, ...more })).toThrow(words);
  });

  test.each(['publicUrl', 'tlsCert', 'tlsKey'])('%s alone is a mistake', (name) => {
    expect(() => exposureOf({ ...NONE, [name]: 'x' })).toThrow(/needs --host/);
  });

  test('has its public name and those that it was given', () => {
    const { origin, hosts } = exposureOf({
      ...NAS,
      ...TLS,
      allowedHosts: ['nas.local:8443', 'NAS.local:443', '[2001:db8::1]:8443'],
    }) as Exposure;
    expect(origin).toBe('https://nas.example');
    expect(hosts).toEqual(['nas.example', 'nas.local:8443', 'nas.local', '[2001:db8::1]:8443']);
  });
});

describe('Host and Origin', () => {
  const hosts = ['nas.example', 'nas.local:8443'];

  test.each(['nas.example', 'NAS.example', 'nas.example:443', 'nas.local:8443'])(
    '%s is ours',
    (host) => {
      expect(namesHost(host, hosts)).toBe(true);
      expect(isOriginOf(`https://${host}`, hosts)).toBe(true);
      expect(isOriginOf(`http://${host}`, hosts)).toBe(false);
    },
  );

  test.each([
    undefined,
    '',
    'evil.example',
    'nas.example.evil.example',
    'evil@nas.example',
    'nas.example:80',
    'nas.local',
    'nas.example/x',
    'nas.example?x',
    '127.0.0.1',
  ])('%s is not', (host) => {
    expect(namesHost(host, hosts)).toBe(false);
    expect(isOriginOf(`https://${host}`, hosts)).toBe(false);
  });

  test('a page without an origin is not ours', () => {
    expect(isOriginOf('null', hosts)).toBe(false);
  });
});
