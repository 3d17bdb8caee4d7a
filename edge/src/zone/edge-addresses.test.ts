import { describe, expect, test } from '@jest/globals';
import { silentLog } from '@millrace/shared/base/log';
import { EdgeAddresses } from './edge-addresses.ts';

const HOUR_MS = 3_600_000;

/** Addresses with a name server that the test controls. */
function stage() {
  const names = new Map<string, string[]>();
  const asked: string[] = [];
  const clock = { now: 0 };
  const addresses = new EdgeAddresses({
    zone: ['cdn', 'example', 'net'],
    log: silentLog,
    now: () => clock.now,
    async lookUp(host) {
      asked.push(host);
      const found = names.get(host);
      if (found === undefined) throw new Error('no such name');
      return found;
    },
  });
  return { names, asked, clock, addresses };
}

describe('addresses of an edge', () => {
  test('are those that it tells, before those of its URL', () => {
    const { addresses } = stage();
    expect(addresses.of(['192.0.2.1', '2001:db8::1'], 'http://192.0.2.9')).toEqual([
      '192.0.2.1',
      '2001:db8::1',
    ]);
    expect(addresses.of(undefined, 'http://192.0.2.9:3125')).toEqual(['192.0.2.9']);
    expect(addresses.of([], 'https://[2001:DB8::9]')).toEqual(['2001:db8::9']);
  });

  test('are looked up for a name, and again at intervals', async () => {
    const { names, asked, addresses } = stage();
    names.set('paris.example.net', ['192.0.2.1']);
    expect(addresses.of(undefined, 'https://paris.example.net')).toEqual([]);
    await addresses.refresh();
    expect(addresses.of(undefined, 'https://paris.example.net')).toEqual(['192.0.2.1']);
    names.set('paris.example.net', ['192.0.2.2']);
    await addresses.refresh();
    expect(addresses.of(undefined, 'https://paris.example.net')).toEqual(['192.0.2.2']);
    expect(new Set(asked)).toEqual(new Set(['paris.example.net']));
  });

  test('stay for an hour when a name can no longer be looked up', async () => {
    const { names, clock, addresses } = stage();
    names.set('paris.example.net', ['192.0.2.1']);
    addresses.of(undefined, 'https://paris.example.net');
    await addresses.refresh();
    names.clear();
    clock.now = HOUR_MS;
    await addresses.refresh();
    expect(addresses.of(undefined, 'https://paris.example.net')).toEqual(['192.0.2.1']);
    clock.now = HOUR_MS + 1;
    await addresses.refresh();
    expect(addresses.of(undefined, 'https://paris.example.net')).toEqual([]);
  });

  test('of a name in the zone itself are not looked up: the server would ask itself', () => {
    const { asked, addresses } = stage();
    expect(addresses.of(undefined, 'https://eu.CDN.example.net')).toEqual([]);
    expect(asked).toEqual([]);
  });

  test('of a node without any are none', () => {
    expect(stage().addresses.of(undefined, undefined)).toEqual([]);
  });

  test('names that nobody asked for in an hour are forgotten', async () => {
    const { names, asked, clock, addresses } = stage();
    names.set('paris.example.net', ['192.0.2.1']);
    addresses.of(undefined, 'https://paris.example.net');
    clock.now = HOUR_MS + 1;
    await addresses.refresh();
    await addresses.refresh();
    expect(asked).toHaveLength(1);
  });
});
