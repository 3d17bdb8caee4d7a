import { beforeEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type HouseEdge, HouseList, type LinkRecord, MAX_ANNOUNCED } from './house-list.ts';

const TYPE = '_millrace._tcp.local';
const HOME = '192.168.1.7';
const facts = (...more: string[]) =>
  ['txtvers=1', 'name=attic', ...more].map((s) => Buffer.from(s));

interface Said {
  readonly name?: string;
  readonly port?: number;
  readonly ttl?: number;
  readonly txt?: readonly Buffer[];
}

/** The records by which an edge announces itself. */
function said({ name = 'attic', port = 3125, ttl = 120, txt = facts() }: Said = {}): LinkRecord[] {
  const instance = `${name}.${TYPE}`;
  return [
    { name: TYPE, type: 'PTR', ttl: ttl === 0 ? 0 : 28_800, data: instance },
    { name: instance, type: 'SRV', ttl, data: { port, target: 'router.local' } },
    { name: instance, type: 'TXT', ttl: 4500, data: txt },
    { name: 'router.local', type: 'A', ttl: 120, data: '127.0.0.1' },
  ];
}

let list: HouseList;
beforeEach(() => {
  list = new HouseList();
});

/** Lets all announced edges answer. */
function identify(now = 0, rttMs = 1): void {
  for (;;) {
    const asked = list.toAsk(now);
    if (asked.length === 0) return;
    for (const edge of asked) list.onIdentified(edge, rttMs, now);
  }
}
const urls = (now = 0) => list.edges(now).map(({ url }) => url);

describe('an announced edge', () => {
  test('is at the address that it announces from, whatever its records say', () => {
    list.onRecords(said(), HOME, 0);
    expect(urls()).toEqual([]);
    identify();
    const edge = { url: `http://${HOME}:3125`, address: HOME, name: 'attic', rttMs: 1 };
    expect(list.edges(0)).toEqual([edge]);
  });

  test('with TLS has the name of its certificate, and the same address', () => {
    const txt = facts('tls=1', 'url=https://attic.example.net:9');
    list.onRecords(said({ txt }), HOME, 0);
    identify();
    expect(list.edges(0)).toMatchObject([{ url: 'https://attic.example.net:3125', address: HOME }]);
  });

  test('is listed only once it has answered as an edge, and asked ever more rarely before', () => {
    list.onRecords(said({ ttl: 4500 }), HOME, 0);
    const [edge] = list.toAsk(0);
    if (edge === undefined) throw new Error('nothing is asked');
    expect(list.toAsk(0)).toEqual([]);
    list.onFailed(edge, 0);
    expect(urls()).toEqual([]);
    expect(list.askAt()).toBe(60_000);
    expect(list.toAsk(60_000)).toEqual([edge]);
    list.onFailed(edge, 60_000);
    expect(list.askAt()).toBe(180_000);
  });

  test('identifies itself anew after ten minutes, and is listed meanwhile', () => {
    list.onRecords(said({ ttl: 4500 }), HOME, 0);
    identify();
    expect(list.toAsk(600_000 - 1)).toEqual([]);
    expect(list.toAsk(600_000)).toHaveLength(1);
    expect(urls(600_000)).toHaveLength(1);
  });

  test('is gone when its time is over, and asked for anew before', () => {
    list.onRecords(said({ ttl: 100 }), HOME, 0);
    identify();
    const asked: number[] = [];
    for (let at = list.refreshAt(); at !== undefined; at = list.refreshAt()) {
      asked.push(at);
      list.onQueried(at);
    }
    expect(asked).toEqual([80_000, 85_000, 90_000, 95_000]);
    expect(urls(99_999)).toHaveLength(1);
    expect(urls(100_000)).toEqual([]);
  });

  test('that announces itself again stays', () => {
    list.onRecords(said({ ttl: 100 }), HOME, 0);
    identify();
    list.onRecords(said({ ttl: 100 }), HOME, 90_000);
    expect(urls(150_000)).toHaveLength(1);
    expect(list.refreshAt()).toBe(170_000);
  });

  test('leaves at its goodbye', () => {
    list.onRecords(said(), HOME, 0);
    identify();
    list.onRecords(said({ ttl: 0 }), HOME, 1);
    expect(urls(1)).toEqual([]);
  });

  test('stays when a neighbour says goodbye for it', () => {
    list.onRecords(said(), HOME, 0);
    identify();
    list.onRecords(said({ ttl: 0 }), '192.168.1.66', 1);
    expect(urls(1)).toHaveLength(1);
  });

  test('stays no longer than 75 minutes without a word, whatever its records say', () => {
    list.onRecords(said({ ttl: 2 ** 31 }), HOME, 0);
    identify();
    expect(urls(75 * 60_000 - 1)).toHaveLength(1);
    expect(urls(75 * 60_000)).toEqual([]);
  });
});

test('the nearest edge comes first', () => {
  list.onRecords(said(), HOME, 0);
  identify(0, 5);
  list.onRecords(said(), '192.168.1.8', 0);
  identify(0, 2);
  expect(urls()).toEqual(['http://192.168.1.8:3125', `http://${HOME}:3125`]);
});

test('an address that has brought wrong bytes is left alone for an hour, under any name', () => {
  list.onRecords(said(), HOME, 0);
  identify();
  list.onWrong(list.edges(0)[0] as HouseEdge, 0);
  expect(urls()).toEqual([]);
  list.onRecords(said({ name: 'other', port: 4000 }), HOME, 3600_000 - 1);
  expect(list.size).toBe(0);
  list.onRecords(said(), HOME, 3600_000);
  expect(list.size).toBe(1);
});

test('at one address at most four are kept', () => {
  for (let port = 1; port < 50; port++) list.onRecords(said({ name: `e${port}`, port }), HOME, 0);
  expect(list.size).toBe(4);
});

test('a flood of announcements drives out no edge that has answered, and is kept to a bound', () => {
  list.onRecords(said({ ttl: 4500 }), HOME, 0);
  identify();
  for (let i = 0; i < 20_000; i++) {
    const from = `10.${i >> 14}.${(i >> 7) & 127}.${i & 127}`;
    list.onRecords(said({ name: `e${i}`, ttl: 4500 }), from, i);
  }
  expect(list.size).toBe(MAX_ANNOUNCED);
  expect(list.toAsk(20_000)).toHaveLength(4);
  expect(list.toAsk(20_000)).toEqual([]);
  expect(urls(20_000)).toContain(`http://${HOME}:3125`);
});

test('a newcomer is left out while all that are kept have answered', () => {
  for (let i = 0; i < MAX_ANNOUNCED; i++) list.onRecords(said(), `10.0.0.${i}`, 0);
  identify();
  list.onRecords(said(), HOME, 0);
  identify();
  expect(urls()).toHaveLength(MAX_ANNOUNCED);
  expect(urls()).not.toContain(`http://${HOME}:3125`);
});

test('records of any kind do no harm', () => {
  const data = fc.oneof(
    fc.constant(undefined),
    fc.string(),
    fc.record({ port: fc.oneof(fc.integer(), fc.string(), fc.double()) }),
    fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 5 }),
    fc.constant(facts()),
    fc.constant(facts('tls=1', 'url=https://a.example')),
  );
  const record = fc.record({
    name: fc.constantFrom(TYPE, `a.${TYPE}`, `b.${TYPE}`, TYPE.toUpperCase(), '', 'x'),
    type: fc.constantFrom('PTR', 'SRV', 'TXT', 'A', 'UNKNOWN_9'),
    ttl: fc.option(fc.integer({ min: 0, max: 2 ** 32 }), { nil: undefined }),
    data,
  });
  fc.assert(
    fc.property(fc.array(fc.array(record, { maxLength: 80 }), { maxLength: 20 }), (packets) => {
      const one = new HouseList();
      for (const [i, packet] of packets.entries()) one.onRecords(packet, `10.0.0.${i}`, i);
      expect(one.size).toBeLessThanOrEqual(MAX_ANNOUNCED);
      for (const { url, address } of one.toAsk(20)) {
        const { hostname } = new URL(url);
        expect([address, 'a.example']).toContain(hostname);
      }
    }),
  );
});
