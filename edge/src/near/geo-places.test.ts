import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Log } from '@millrace/shared/base/log';
import { geoDatabase } from '@millrace/shared/testing/geo-database';
import { GeoPlaces } from './geo-places.ts';

const BERLIN = { latitude: 52.5, longitude: 13.4 };
const SYDNEY = { latitude: -33.9, longitude: 151.2 };
const NETWORKS = [
  ['192.0.2.0/24', BERLIN, 'DE'],
  ['198.51.100.0/25', SYDNEY],
] as const;

let folder: string;
let path: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-geo-'));
  path = join(folder, 'places.mmdb');
  await writeFile(path, geoDatabase(NETWORKS));
});

afterAll(() => rm(folder, { recursive: true }));

/** Opens a database with a clock and names of the test. */
async function open(file = path) {
  const said: string[] = [];
  const note = (_fields: object, text: string) => void said.push(text);
  const log = { info() {}, warn: note, error: note } as unknown as Log;
  const clock = { now: 0, address: '192.0.2.1' };
  const asked: string[] = [];
  const resolve = async (name: string) => {
    asked.push(name);
    return { address: clock.address };
  };
  const places = await GeoPlaces.open({ path: file, now: () => clock.now, log, resolve });
  return { places, said, clock, asked };
}

describe('GeoPlaces', () => {
  test('knows the places of addresses in the database, and of no others', async () => {
    const { places } = await open();
    expect(places.of('192.0.2.77')).toEqual(BERLIN);
    expect(places.of('::ffff:192.0.2.77')).toEqual(BERLIN);
    expect(places.of('198.51.100.127')).toEqual(SYDNEY);
    for (const other of ['198.51.100.128', '203.0.113.1', '2001:db8::1', 'nobody', ''])
      expect([other, places.of(other)]).toEqual([other, undefined]);
  });

  test('knows the countries of addresses, if the database has them', async () => {
    const { places } = await open();
    expect(places.countryOf('192.0.2.77')).toBe('DE');
    expect(places.countryOf('198.51.100.1')).toBeUndefined();
    expect(places.countryOf('nobody')).toBeUndefined();
  });

  test('places an edge by the address of its name, which is looked up again after ten minutes', async () => {
    const { places, clock, asked } = await open();
    expect(places.ofEdge('https://edge.example')).toBeUndefined();
    await Promise.resolve().then(() => {});
    expect(places.ofEdge('https://edge.example')).toEqual(BERLIN);
    expect(asked).toEqual(['edge.example']);
    clock.address = '198.51.100.1';
    clock.now = 600_000;
    // The old place counts until the lookup has ended.
    expect(places.ofEdge('https://edge.example')).toEqual(BERLIN);
    await Promise.resolve().then(() => {});
    expect(places.ofEdge('https://edge.example')).toEqual(SYDNEY);
  });

  test('looks no address up that a URL names itself', async () => {
    const { places, asked } = await open();
    places.ofEdge('http://198.51.100.9:3125');
    await Promise.resolve();
    expect(places.ofEdge('http://198.51.100.9:3125')).toEqual(SYDNEY);
    expect(asked).toEqual([]);
  });

  test('refuses a file that is missing or is no database, in plain words', async () => {
    const other = join(folder, 'other');
    await writeFile(other, 'this is a text');
    await expect(open(other)).rejects.toThrow('it is no database in the format MMDB');
    await expect(open(join(folder, 'missing'))).rejects.toThrow('--geoip');
  });

  test('warns of a database without places', async () => {
    const countries = join(folder, 'countries');
    await writeFile(countries, geoDatabase(NETWORKS, 'Test-Country'));
    expect((await open(countries)).said).toEqual([
      '--geoip: this file has countries only, and no places',
    ]);
  });

  test('reads the file again, and keeps the old one if the new one cannot be used', async () => {
    const changing = join(folder, 'changing');
    await writeFile(changing, geoDatabase([['192.0.2.0/24', BERLIN]]));
    const { places, said } = await open(changing);
    await writeFile(changing, geoDatabase([['192.0.2.0/24', SYDNEY]]));
    await places.reload();
    expect(places.of('192.0.2.1')).toEqual(SYDNEY);
    await writeFile(changing, 'damaged');
    await places.reload();
    expect(places.of('192.0.2.1')).toEqual(SYDNEY);
    expect(said).toEqual(['--geoip cannot be read: the old one is still in use']);
  });
});
