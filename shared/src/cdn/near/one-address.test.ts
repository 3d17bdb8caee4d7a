import { expect, test } from '@jest/globals';
import { type AddressedEdge, oneForEachAddress } from './one-address.ts';

const NODE: AddressedEdge = {
  name: 'a',
  url: 'https://a.example',
  rttMs: undefined,
  km: undefined,
  peerMs: 20,
  load: 1,
  weight: 1,
  room: 0.5,
};

test('nodes at one address are one edge: the nearest figures, and load and weight of all', () => {
  const nodes = [
    NODE,
    { ...NODE, name: 'a-2', rttMs: 30, km: 7, peerMs: 10, load: 3, room: 0.2 },
    { ...NODE, name: 'b', url: 'https://b.example' },
    { ...NODE, name: 'a-3', rttMs: 25, room: 0.9 },
  ];
  expect(oneForEachAddress(nodes)).toEqual([
    { ...NODE, rttMs: 25, km: 7, peerMs: 10, load: 5, weight: 3, room: 0.9 },
    { ...NODE, name: 'b', url: 'https://b.example' },
  ]);
});
