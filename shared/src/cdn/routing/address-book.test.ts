import { describe, expect, test } from '@jest/globals';
import {
  AddressBook,
  MAX_ADDRESSES,
  MAX_VAIN,
  MAX_VAIN_IF_FULL,
  MIN_ROUND_MS,
  PEER_ROUND_MS,
  SUSPECT_PAUSE_MS,
} from './address-book.ts';
import { MAX_NODES } from './peer-table.ts';

const [A, B, C] = ['http://10.0.0.1:1', 'http://10.0.0.2:1', 'http://10.0.0.3:1'];

function book({ seeds = [], heard = [] }: { seeds?: string[]; heard?: string[] }): AddressBook {
  const addresses = new AddressBook();
  addresses.setSeeds(seeds);
  for (const url of heard) addresses.hear(url);
  return addresses;
}

function turns(addresses: AddressBook, count: number): (string | undefined)[] {
  return Array.from({ length: count }, () => addresses.next(0, () => []));
}

function missed(addresses: AddressBook, url: string, times: number): void {
  for (let i = 0; i < times; i++) addresses.onMiss(url);
}

describe('the address to ask next', () => {
  test('is undefined if no address is known', () => {
    expect(book({}).next(0, () => [])).toBeUndefined();
  });

  test('goes round, and addresses that come in between have their turn in the next round', () => {
    const addresses = book({ seeds: [A], heard: [B] });
    expect(addresses.next(0, () => [])).toBe(A);
    expect(addresses.hear(C)).toBe(true);
    expect(turns(addresses, 4)).toEqual([B, A, B, C]);
  });

  test('is never a further address of a known node, until an address does not answer', () => {
    const addresses = book({ seeds: [A, B, C] });
    addresses.onAnswer(B, true);
    expect(turns(addresses, 4)).toEqual([A, C, A, C]);
    addresses.onMiss(A);
    expect(turns(addresses, 3)).toEqual([A, B, C]);
    addresses.onAnswer(B, true);
    addresses.onAnswer(B, false);
    expect(turns(addresses, 3)).toEqual([A, B, C]);
  });

  test('is undefined if all are further addresses of known nodes', () => {
    const addresses = book({ seeds: [A] });
    addresses.onAnswer(A, true);
    expect(turns(addresses, 2)).toEqual([undefined, undefined]);
  });

  test('is never one that has been forgotten meanwhile', () => {
    const addresses = book({ heard: [A, B] });
    expect(addresses.next(0, () => [])).toBe(A);
    missed(addresses, B, MAX_VAIN);
    expect(turns(addresses, 2)).toEqual([undefined, A]);
  });
});

describe('forgotten addresses', () => {
  test('include those that only other nodes have named, after too many unanswered requests', () => {
    const addresses = book({ seeds: [A], heard: [B] });
    for (const url of [A, B]) missed(addresses, url, MAX_VAIN - 1);
    expect(addresses.urls).toEqual([A, B]);
    for (const url of [A, B]) missed(addresses, url, MAX_VAIN);
    expect(addresses.urls).toEqual([A]);
    // It may be heard of again.
    expect(addresses.hear(B)).toBe(true);
  });

  test('do not include one that answers now and then', () => {
    const addresses = book({ heard: [A] });
    missed(addresses, A, MAX_VAIN - 1);
    addresses.onAnswer(A, false);
    missed(addresses, A, MAX_VAIN - 1);
    expect(addresses.has(A)).toBe(true);
  });

  test('include former seeds, once the operator’s names stand for others', () => {
    const addresses = book({ seeds: [A, B] });
    addresses.setSeeds([B, C]);
    for (const url of [A, B, C]) missed(addresses, url, MAX_VAIN);
    expect(addresses.urls).toEqual([B, C]);
  });

  test('do not include one that has become a seed since', () => {
    const addresses = book({ heard: [A] });
    addresses.setSeeds([A]);
    missed(addresses, A, MAX_VAIN);
    expect(addresses.has(A)).toBe(true);
  });
});

describe('however many addresses are named', () => {
  test('no more are remembered than there is room for, except seeds', () => {
    const addresses = new AddressBook();
    for (let i = 0; i < MAX_ADDRESSES; i++) expect(addresses.hear(`http://a:${i}`)).toBe(true);
    expect(addresses.hear(A)).toBe(false);
    expect(addresses.addSeed(A)).toBe(true);
    expect(addresses.addSeed(A)).toBe(false);
    expect(addresses.urls).toHaveLength(MAX_ADDRESSES + 1);
  });

  test('a known address is not added again', () => {
    const addresses = book({ seeds: [A] });
    expect(addresses.hear(A)).toBe(false);
    expect(addresses.urls).toEqual([A]);
  });
});

describe('in a network with more nodes than a node has peers', () => {
  const BEAT_MS = 500;
  const urls = Array.from({ length: 1000 }, (_, i) => `http://10.0.1.1:${i + 1}`);
  const peers = urls.slice(300, 390);

  test('every peer is asked once a minute, and everybody else in the turns between', () => {
    const addresses = book({ heard: urls });
    const asked = new Map<string, number>();
    const MINUTES = 20;
    for (let now = 0; now < MINUTES * PEER_ROUND_MS; now += BEAT_MS) {
      const url = addresses.next(now, () => peers) as string;
      asked.set(url, (asked.get(url) ?? 0) + 1);
    }
    for (const peer of peers) expect(asked.get(peer)).toBeGreaterThanOrEqual(MINUTES - 1);
    const others = urls.filter((url) => !peers.includes(url));
    const met = others.filter((url) => asked.has(url)).length;
    // 120 turns a minute without those of 90 peers, and peers have their share of the others as well.
    expect(met).toBeGreaterThanOrEqual(MINUTES * 25);
  });

  test('a peer that did not answer is asked again after a pause, before all others', () => {
    const addresses = book({ heard: urls });
    addresses.suspect(A, 0);
    addresses.suspect(peers[3] as string, 0);
    expect(addresses.next(SUSPECT_PAUSE_MS - 1, () => peers)).toBe(peers[0]);
    // The first suspect's address is not in the book.
    expect(addresses.next(SUSPECT_PAUSE_MS, () => peers)).toBe(peers[3]);
    expect(addresses.next(SUSPECT_PAUSE_MS, () => peers)).toBe(peers[1]);
  });

  test('the slow beat goes on however many peers and suspects wait for their turns', () => {
    const addresses = book({ heard: urls });
    for (const peer of peers) addresses.suspect(peer, 0);
    const slow = Array.from({ length: urls.length }, () => addresses.nextStranger());
    expect(slow).toEqual(urls);
  });
});

describe('nodes of one site', () => {
  const BEAT_MS = 500;
  const SITES = 20;
  const PER_SITE = 6;
  const urls = Array.from({ length: SITES * PER_SITE + 10 }, (_, i) => `http://10.0.2.1:${i + 1}`);
  const siteOf = (i: number) => (i < SITES * PER_SITE ? `s${i % SITES}` : undefined);

  function sited(own?: string): AddressBook {
    const addresses = new AddressBook(own);
    for (const [i, url] of urls.entries()) {
      addresses.hear(url);
      addresses.onAnswer(url, false, siteOf(i));
    }
    return addresses;
  }

  /** Lets time pass, and returns the addresses asked. */
  function ask(addresses: AddressBook, untilMs: number): string[] {
    const asked: string[] = [];
    for (let now = 0; now < untilMs; now += BEAT_MS) {
      const url = addresses.next(now, () => urls) as string;
      addresses.onAsked(url);
      asked.push(url);
    }
    return asked;
  }

  test('have one turn in a round, each in its own round, and rounds are shorter by that', () => {
    const units = SITES + 10;
    const asked = ask(sited(), PER_SITE * units * BEAT_MS);
    for (const [i, url] of urls.entries()) {
      const times = asked.filter((other) => other === url).length;
      expect([url, times]).toEqual([url, siteOf(i) === undefined ? PER_SITE : 1]);
    }
  });

  test('are all asked by the nodes of their own site', () => {
    const round = ask(sited('s3'), (SITES - 1 + PER_SITE + 10) * BEAT_MS);
    const own = urls.filter((_, i) => siteOf(i) === 's3');
    expect(round).toEqual(expect.arrayContaining(own));
    expect(new Set(round).size).toBe(round.length);
  });

  test('are not asked without a pause if there are hardly any others', () => {
    const addresses = new AddressBook();
    for (const url of urls) {
      addresses.hear(url);
      addresses.onAnswer(url, false, 'one');
    }
    const peers = [urls[0] as string, urls[1] as string];
    expect(addresses.next(0, () => peers)).toBe(peers[0]);
    addresses.onAsked(peers[0] as string);
    addresses.next(MIN_ROUND_MS - 1, () => peers);
    expect(addresses.next(MIN_ROUND_MS, () => peers)).toBe(peers[1]);
  });

  test('take over for one that is silent: another is asked at once, and only the first time', () => {
    const addresses = sited();
    const [first, second, third] = urls.filter((_, i) => siteOf(i) === 's0') as [
      string,
      string,
      string,
    ];
    for (const url of urls) if (url !== second) addresses.onAsked(url);
    expect(addresses.onMiss(first)).toBe(second);
    expect(addresses.onMiss(first)).toBeUndefined();
    addresses.onAsked(second);
    expect(addresses.onMiss(second)).toBe(third);
    // Nobody takes over for a node without a site.
    expect(addresses.onMiss(urls.at(-1) as string)).toBeUndefined();
  });

  test('that others do not speak for are asked before all others', () => {
    const addresses = sited();
    addresses.doubt(urls[77] as string);
    addresses.doubt('http://unknown:1');
    expect(addresses.next(0, () => urls)).toBe(urls[77]);
    expect(addresses.next(0, () => urls)).toBe(urls[0]);
  });
});

describe('in a network with more nodes than a node remembers', () => {
  const urls = Array.from({ length: MAX_NODES + 50 }, (_, i) => `http://10.1.1.1:${i + 1}`);
  const extra = urls.slice(MAX_NODES);

  test('a new address is asked soon only if it is near, or few have been asked', () => {
    const addresses = book({ heard: urls.slice(0, MAX_NODES) });
    for (const url of addresses.urls) expect(addresses.isSoon(url)).toBe(true);
    for (const url of addresses.urls) addresses.onAsked(url);
    addresses.hear(extra[0] as string);
    expect(addresses.nextNew()).toBeUndefined();
    addresses.hear(extra[1] as string, true);
    expect(addresses.nextNew()).toBe(extra[1]);
  });

  test('the slow beat serves nodes that are remembered and all others by turns', () => {
    const addresses = book({ heard: urls });
    for (const url of urls) addresses.onAnswer(url, false, undefined, !extra.includes(url));
    const slow = Array.from({ length: 20 }, () => addresses.nextStranger() as string);
    expect(slow.filter((url) => extra.includes(url))).toEqual(extra.slice(0, 10));
    expect(slow.filter((url) => !extra.includes(url))).toEqual(urls.slice(0, 10));
  });

  test('a full book gives the place of an address that does not answer to a new one', () => {
    const addresses = new AddressBook();
    for (let i = 0; i < MAX_ADDRESSES; i++) addresses.hear(`http://a:${i}`);
    expect(addresses.hear(A)).toBe(false);
    missed(addresses, 'http://a:7', MAX_VAIN_IF_FULL);
    expect(addresses.hear(A)).toBe(true);
    expect(addresses.has('http://a:7')).toBe(false);
    expect(addresses.hear(B)).toBe(false);
  });
});

describe('in a network of no more nodes than a node has peers', () => {
  test('a dead peer is not left alone for a whole round: it is asked again soon, as in large networks', () => {
    const addresses = book({ heard: [A, B, C] });
    expect(addresses.next(0, () => [])).toBe(A);
    addresses.suspect(A, 0);
    expect(addresses.next(SUSPECT_PAUSE_MS - 1, () => [])).toBe(B);
    expect(addresses.next(SUSPECT_PAUSE_MS, () => [])).toBe(A);
    expect(addresses.next(SUSPECT_PAUSE_MS, () => [])).toBe(C);
  });

  test('there is no slow beat', () => {
    expect(book({ heard: [A, B, C] }).nextStranger()).toBeUndefined();
  });
});

test('new addresses are those that have never been asked, oldest first', () => {
  const addresses = book({ seeds: [A], heard: [B, C] });
  expect(addresses.nextNew()).toBe(A);
  addresses.onAsked(A);
  missed(addresses, B, MAX_VAIN);
  expect(addresses.nextNew()).toBe(C);
  addresses.onAsked(C);
  expect(addresses.nextNew()).toBeUndefined();
});
