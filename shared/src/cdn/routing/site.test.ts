import { expect, test } from '@jest/globals';
import { peerInfo as info } from '../../../testing/peer-info.ts';
import type { Peer } from './peer.ts';
import { PeerTable } from './peer-table.ts';
import { hearMates, MAX_MATES, type Mate, matesOf } from './site.ts';

const AT_A = ['a1', 'a2', 'a3'];

/** A table with three nodes at site `a`, one at site `b`, and one without a site. */
function tableOf(): PeerTable {
  const table = new PeerTable({ name: 'me', org: undefined });
  for (const name of AT_A) table.onAnswer(`http://${name}`, info({ name, site: 'a' }), 10, 0);
  table.onAnswer('http://b1', info({ name: 'b1', site: 'b' }), 10, 0);
  table.onAnswer('http://c', info({ name: 'c' }), 10, 0);
  return table;
}

const names = (peers: readonly Peer[]) => peers.map(({ name }) => name);
const hear = (table: PeerTable, speaker: string, mates: readonly Mate[]) =>
  names(hearMates(table.get(speaker) as Peer, mates, table.peers));

test('a node speaks for those at its site that answered the last time, with their load', () => {
  const table = tableOf();
  (table.get('a2') as Peer).load = 3;
  expect(matesOf('a', table.peers)).toEqual([
    ['a1', 0],
    ['a2', 3],
    ['a3', 0],
  ]);
  table.onMiss('http://a1', 0);
  table.onForwardFailed('a2', 0);
  expect(matesOf('a', table.peers)).toEqual([['a3', 0]]);
  (table.get('a3') as Peer).draining = true;
  expect(matesOf('a', table.peers)).toEqual([]);
});

test('a node without a site speaks for nobody', () => {
  expect(matesOf(undefined, tableOf().peers)).toEqual([]);
});

test('nodes of the site that are left out are to be asked, and no others', () => {
  const table = tableOf();
  expect(hear(table, 'a1', [['a2', 5]])).toEqual(['a3']);
  expect(table.get('a2')?.load).toBe(5);
  expect(hear(table, 'b1', [])).toEqual([]);
  expect(hear(table, 'c', [])).toEqual([]);
});

test('what a node says of others brings no dead node back, and none of another site', () => {
  const table = tableOf();
  for (let i = 0; i < 3; i++) table.onMiss('http://a2', 0);
  hear(table, 'a1', [
    ['a2', 0],
    ['a3', 0],
    ['b1', 9],
    ['unknown', 0],
  ]);
  expect(table.isUsable(table.get('a2') as Peer, 0)).toBe(false);
  expect(table.get('b1')?.load).toBe(0);
  expect(table.get('unknown')).toBeUndefined();
});

test('of a site with more nodes than an answer tells of, nothing follows from silence', () => {
  const table = tableOf();
  const many = Array.from({ length: MAX_MATES }, (_, i): Mate => [`other-${i}`, 0]);
  expect(hear(table, 'a1', many)).toEqual([]);
});
