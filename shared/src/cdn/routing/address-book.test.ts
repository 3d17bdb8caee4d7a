import { describe, expect, test } from '@jest/globals';
import {
  AddressBook,
  MAX_ADDRESSES,
  MAX_VAIN,
  PEER_ROUND_MS,
  SUSPECT_PAUSE_MS,
} from './address-book.ts';

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
