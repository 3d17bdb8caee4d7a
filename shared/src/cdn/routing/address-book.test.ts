import { describe, expect, test } from '@jest/globals';
import { AddressBook, MAX_ADDRESSES, MAX_VAIN } from './address-book.ts';

const [A, B, C] = ['http://10.0.0.1:1', 'http://10.0.0.2:1', 'http://10.0.0.3:1'];

function book({ seeds = [], heard = [] }: { seeds?: string[]; heard?: string[] }): AddressBook {
  const addresses = new AddressBook();
  addresses.setSeeds(seeds);
  for (const url of heard) addresses.hear(url);
  return addresses;
}

function turns(addresses: AddressBook, count: number): (string | undefined)[] {
  return Array.from({ length: count }, () => addresses.next());
}

function missed(addresses: AddressBook, url: string, times: number): void {
  for (let i = 0; i < times; i++) addresses.onMiss(url);
}

describe('the address to ask next', () => {
  test('is undefined if no address is known', () => {
    expect(book({}).next()).toBeUndefined();
  });

  test('goes round, and addresses that come in between have their turn in the next round', () => {
    const addresses = book({ seeds: [A], heard: [B] });
    expect(addresses.next()).toBe(A);
    expect(addresses.hear(C)).toBe(true);
    expect(turns(addresses, 4)).toEqual([B, A, B, C]);
  });

  test('is no further address of a known node, until an address does not answer', () => {
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

  test('is none that has been forgotten meanwhile', () => {
    const addresses = book({ heard: [A, B] });
    expect(addresses.next()).toBe(A);
    missed(addresses, B, MAX_VAIN);
    expect(turns(addresses, 2)).toEqual([undefined, A]);
  });
});

describe('forgotten addresses', () => {
  test('are those that were only heard of, after too many unanswered requests', () => {
    const addresses = book({ seeds: [A], heard: [B] });
    for (const url of [A, B]) missed(addresses, url, MAX_VAIN - 1);
    expect(addresses.urls).toEqual([A, B]);
    for (const url of [A, B]) missed(addresses, url, MAX_VAIN);
    expect(addresses.urls).toEqual([A]);
    // It may be heard of again.
    expect(addresses.hear(B)).toBe(true);
  });

  test('are none that answer now and then', () => {
    const addresses = book({ heard: [A] });
    missed(addresses, A, MAX_VAIN - 1);
    addresses.onAnswer(A, false);
    missed(addresses, A, MAX_VAIN - 1);
    expect(addresses.has(A)).toBe(true);
  });

  test('are former seeds, once the operator’s names stand for others', () => {
    const addresses = book({ seeds: [A, B] });
    addresses.setSeeds([B, C]);
    for (const url of [A, B, C]) missed(addresses, url, MAX_VAIN);
    expect(addresses.urls).toEqual([B, C]);
  });

  test('are none that have become seeds since', () => {
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
