import { describe, expect, test } from '@jest/globals';
import ipaddr from 'ipaddr.js';
import { CLOUD_SERVICES } from './cloud-services.ts';
import { ipLiteral, isCloudServiceName, isPublicAddress } from './public-address.ts';

describe('public addresses', () => {
  test.each([
    '8.8.8.8',
    '1.1.1.1',
    '172.15.255.255',
    '172.32.0.0',
    '192.167.255.255',
    '100.63.255.255',
    '100.128.0.0',
    '169.253.255.255',
    '2001:4860:4860::8888',
    '2606:4700::1111',
    '::ffff:8.8.8.8',
  ])('%s is public', (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });

  test.each([
    ['this host', '0.0.0.0'],
    ['loopback', '127.0.0.1'],
    ['loopback', '127.255.255.255'],
    ['private', '10.0.0.1'],
    ['private', '172.16.0.1'],
    ['private', '172.31.255.255'],
    ['private', '192.168.0.1'],
    ['carrier-grade NAT', '100.64.0.1'],
    ['link-local', '169.254.0.1'],
    ['metadata', '169.254.169.254'],
    ['protocol assignments', '192.0.0.8'],
    ['documentation', '192.0.2.1'],
    ['documentation', '198.51.100.1'],
    ['documentation', '203.0.113.1'],
    ['benchmarking', '198.18.0.1'],
    ['multicast', '224.0.0.1'],
    ['reserved', '240.0.0.1'],
    ['broadcast', '255.255.255.255'],
    ['unspecified', '::'],
    ['loopback', '::1'],
    ['unique local', 'fc00::1'],
    ['unique local', 'fd00::1'],
    ['metadata', 'fd00:ec2::254'],
    ['link-local', 'fe80::1'],
    ['link-local with a zone', 'fe80::1%eth0'],
    ['site-local', 'fec0::1'],
    ['multicast', 'ff02::1'],
    ['documentation', '2001:db8::1'],
    ['discard', '100::1'],
    ['mapped loopback', '::ffff:127.0.0.1'],
    ['mapped private', '::ffff:10.0.0.1'],
    ['mapped metadata', '::ffff:a9fe:a9fe'],
    ['translated loopback', '::ffff:0:127.0.0.1'],
    ['6to4 of loopback', '2002:7f00:1::'],
    ['6to4 of a private address', '2002:a00:1::1'],
    ['NAT64 of loopback', '64:ff9b::127.0.0.1'],
    ['NAT64 of a private address', '64:ff9b::10.0.0.1'],
    ['local NAT64', '64:ff9b:1::10.0.0.1'],
    ['compatible loopback', '::7f00:1'],
    ['compatible loopback', '::127.0.0.1'],
    ['compatible private', '::a00:1'],
    ['ISATAP without a prefix', '::5efe:a00:1'],
    ['ISATAP', '2606:4700::5efe:a9fe:a9fe'],
    ['ISATAP of a public address', '2606:4700::200:5efe:808:808'],
    ['not assigned', '4000::1'],
    ['Teredo', '2001:0:4136:e378:8000:63bf:3fff:fdd2'],
    ['no address', 'example.com'],
    ['nothing', ''],
  ])('%s (%s) is not public', (_, address) => {
    expect(isPublicAddress(address)).toBe(false);
  });

  test.each(CLOUD_SERVICES.flatMap(({ of, networks }) => networks.map((each) => [each, of])))(
    'no address of %s (%s) is public, in any form',
    (network) => {
      const [first, bits] = ipaddr.parseCIDR(network);
      const Type = first.kind() === 'ipv4' ? ipaddr.IPv4 : ipaddr.IPv6;
      const edges = [Type.networkAddressFromCIDR(network)];
      if (Type === ipaddr.IPv4) edges.push(ipaddr.IPv4.broadcastAddressFromCIDR(network));
      for (const address of [first, ...edges]) {
        expect(isPublicAddress(address.toString())).toBe(false);
        if (!(address instanceof ipaddr.IPv4)) continue;
        const [high, low] = [address.octets.slice(0, 2), address.octets.slice(2)].map(
          ([a = 0, b = 0]) => (256 * a + b).toString(16),
        );
        for (const form of [
          `::ffff:${high}:${low}`,
          `::${high}:${low}`,
          `::ffff:0:${high}:${low}`,
          `64:ff9b::${high}:${low}`,
          `64:ff9b:1::${high}:${low}`,
          `2002:${high}:${low}::1`,
          `2001:0:${high}:${low}::1`,
          `2606:4700::5efe:${high}:${low}`,
        ]) {
          expect([form, isPublicAddress(form)]).toEqual([form, false]);
        }
      }
      expect(bits).toBeGreaterThan(8);
    },
  );

  test.each(['168.63.129.15', '168.63.129.17', '192.80.8.125', '161.25.255.255', '166.12.0.0'])(
    '%s, next to a cloud service, is public',
    (address) => expect(isPublicAddress(address)).toBe(true),
  );

  test('names of cloud services are known, in any case', () => {
    for (const name of ['metadata.google.internal', 'METADATA.google.INTERNAL.', 'metadata']) {
      expect(isCloudServiceName(name)).toBe(true);
    }
    expect(isCloudServiceName('metadata.example.com')).toBe(false);
  });

  test('IP literals are distinguished from names', () => {
    expect(ipLiteral('[::1]')).toBe('::1');
    expect(ipLiteral('10.0.0.1')).toBe('10.0.0.1');
    expect(ipLiteral('example.com')).toBeUndefined();
    expect(ipLiteral('10.example.com')).toBeUndefined();
  });
});
