import type { LookupAddress, lookup } from 'node:dns';
import { describe, expect, test } from '@jest/globals';
import { AllowList } from './allow-list.ts';
import { OwnAddresses } from './own-addresses.ts';
import { OriginPolicy } from './policy.ts';
import { publicLookup } from './public-address.ts';

/** A machine whose addresses, name and clock can be set. */
function machine(publicUrl?: string) {
  const state = {
    at: 0,
    addresses: ['8.8.4.4', '2606:4700::1', 'fe80::1%eth0'],
    named: ['9.9.9.9'],
  };
  const own = new OwnAddresses({
    publicUrl,
    now: () => state.at,
    interfaces: () => ({ eth0: state.addresses.map((address) => ({ address })), eth1: undefined }),
    resolve: async () => {
      if (state.named.length === 0) throw new Error('ENOTFOUND');
      return state.named.map((address) => ({ address }));
    },
  });
  return { state, own };
}

const refused = expect.objectContaining({ code: 'private-address' });
const known = (own: OwnAddresses, ...addresses: string[]) => addresses.map((one) => own.has(one));

describe('addresses of the machine itself', () => {
  test('are known in all their forms, and others are not', () => {
    const { own } = machine();
    const same = ['8.8.4.4', '::ffff:8.8.4.4', '2606:4700:0::0:1', '2606:4700::1%eth0', 'fe80::1'];
    expect(known(own, ...same)).toEqual(same.map(() => true));
    expect(known(own, '8.8.8.8', '2606:4700::2', 'no address')).toEqual([false, false, false]);
  });

  test('are noticed when they come and go', () => {
    const { own, state } = machine();
    expect(known(own, '8.8.4.4', '8.8.8.8')).toEqual([true, false]);
    state.addresses = ['8.8.8.8'];
    state.at += 5000;
    expect(known(own, '8.8.4.4', '8.8.8.8')).toEqual([false, true]);
  });

  test('include those of its public URL, literal ones and those of its name', async () => {
    expect(known(machine('https://1.1.1.1:8443').own, '1.1.1.1')).toEqual([true]);
    expect(known(machine('https://[2606:4700::9]').own, '2606:4700::9')).toEqual([true]);
    const { own, state } = machine('https://Edge.example.org');
    expect([own.hasName('edge.EXAMPLE.org.'), own.hasName('example.org')]).toEqual([true, false]);
    await own.refreshName();
    expect(known(own, '9.9.9.9')).toEqual([true]);
    // A name server that is away changes nothing; a new address replaces the old one.
    state.named = [];
    state.at += 60_000;
    await own.refreshName();
    expect(known(own, '9.9.9.9')).toEqual([true]);
    state.named = ['9.9.9.10'];
    state.at += 60_000;
    await own.refreshName();
    expect(known(own, '9.9.9.9', '9.9.9.10')).toEqual([false, true]);
  });
});

describe('an edge for any public origin', () => {
  const { own } = machine('https://edge.example.org');
  const policy = (...entries: string[]) => new OriginPolicy(new AllowList(entries), undefined, own);

  test.each([
    'http://8.8.4.4/',
    'http://8.8.4.4:3125/-/status',
    'http://[2606:4700::1]/',
    'http://[::ffff:8.8.4.4]/',
    'https://edge.example.org/-/dashboard',
    'http://edge.example.org.:8080/',
    'http://metadata.google.internal/computeMetadata/v1/',
    'http://168.63.129.16/machine?comp=goalstate',
  ])('does not fetch %s', (url) => {
    expect(() => policy('*').check(new URL(url), 'public')).toThrow(refused);
  });

  test('fetches from its own machine if that is listed by its name or address', () => {
    const url = new URL('http://8.8.4.4/');
    expect(policy('8.8.4.4').check(url, 'public')).toBe(true);
    expect(() => policy('*').check(new URL('http://8.8.8.8/'), 'public')).not.toThrow();
  });

  test('does not connect to a name that leads to its own machine, at the time of the connection', async () => {
    const resolve = (_host: string, _options: object, callback: (...args: unknown[]) => void) => {
      const found: LookupAddress[] = [{ address: '8.8.4.4', family: 4 }];
      callback(null, found);
    };
    const look = publicLookup(resolve as unknown as typeof lookup, own);
    const error = await new Promise((done) => look('a.example', {}, (thrown) => done(thrown)));
    expect(error).toEqual(refused);
  });
});
