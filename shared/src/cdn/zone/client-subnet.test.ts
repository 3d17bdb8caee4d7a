import { describe, expect, test } from '@jest/globals';
import { readClientSubnet, subnetAddress, writeClientSubnet } from './client-subnet.ts';

const bytes = (hex: string) => Uint8Array.from(Buffer.from(hex.replaceAll(' ', ''), 'hex'));

describe('the network of a client', () => {
  test.each([
    ['0001 18 00 c63364', 4, 24, '198.51.100.0'],
    ['0001 14 00 c63360', 4, 20, '198.51.96.0'],
    ['0001 20 00 c6336407', 4, 32, '198.51.100.7'],
    ['0002 38 00 20010db8000001', 6, 56, '2001:db8:0:100:0:0:0:0'],
    ['0001 00 00', 4, 0, '0.0.0.0'],
  ] as const)('is read and written back: %s', (hex, family, bits, address) => {
    const subnet = readClientSubnet(bytes(hex));
    expect(subnet).toMatchObject({ family, bits });
    if (subnet === undefined) return;
    expect(subnetAddress(subnet)).toBe(address);
    expect(writeClientSubnet(subnet, 0)).toEqual(bytes(hex));
    expect(writeClientSubnet(subnet, 16)[3]).toBe(16);
  });

  test.each([
    ['', 'nothing'],
    ['0001 18', 'an end in the middle'],
    ['0003 18 00 c63364', 'an unknown family'],
    ['0001 18 01 c63364', 'a scope in a question'],
    ['0001 21 00 c633640700', 'more bits than an address has'],
    ['0001 18 00 c633', 'less than it says'],
    ['0001 18 00 c6336400', 'more than it says'],
    ['0001 14 00 c63364', 'bits that it does not tell'],
  ])('is refused with %j: %s', (hex) => {
    expect(readClientSubnet(bytes(hex))).toBeUndefined();
  });
});
