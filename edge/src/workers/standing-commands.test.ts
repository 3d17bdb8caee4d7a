import { expect, test } from '@jest/globals';
import type { Command } from '../cache/commands.ts';
import { newPurge } from '../cache/purges.ts';
import { StandingCommands } from './standing-commands.ts';

const purge = (at: number): Command => ({
  do: 'purge',
  purge: newPurge({ kind: 'url', url: `https://a.example/${at}` }, at),
  network: false,
});
const pin = (id: string, forMs: number): Command => ({
  do: 'pin',
  pin: { id, url: 'https://a.example/', bytes: 1, tag: 'e.1', length: 1, proof: '0'.repeat(64) },
  forMs,
});

test('a process that is started again learns of purges, and of pins that have not ended', () => {
  const standing = new StandingCommands();
  for (const command of [purge(1), pin('a', 100), pin('b', 50), pin('c', 100)]) {
    standing.add(command, 0);
  }
  standing.add({ do: 'release', id: 'c' }, 10);
  standing.add({ do: 'extend', id: 'b', forMs: 200 }, 10);
  standing.add({ do: 'prefetches' }, 10);
  expect(standing.at(150)).toEqual([
    expect.objectContaining({ do: 'purge' }),
    { ...pin('b', 50), forMs: 60 },
  ]);
});

test('it learns of a pin of the network as all nodes know it, with its last lease', () => {
  const standing = new StandingCommands();
  const ofNetwork = { ...pin('a', 100), at: 5 } as Command;
  standing.add(ofNetwork, 7);
  standing.add({ do: 'extend', id: 'a', forMs: 300, at: 20 }, 22);
  expect(standing.at(200)).toEqual([{ ...ofNetwork, forMs: 300, at: 20 }]);
  expect(standing.at(320)).toEqual([]);
});

test('a process that is started again learns of sessions that were logged out', () => {
  const standing = new StandingCommands();
  const [a, b] = ['A'.repeat(16), 'B'.repeat(16)];
  const logOut = (until: number, ...sessions: [string, number][]): Command => ({
    do: 'log-out',
    ending: { until, sessions },
  });
  standing.add(logOut(0, [a, 100]), 0);
  standing.add(logOut(0, [b, 200]), 0);
  expect(standing.at(50)).toEqual([logOut(0, [a, 100], [b, 200])]);
  standing.add(logOut(150), 60);
  expect(standing.at(70)).toEqual([logOut(150, [b, 200])]);
});

test('it learns of very many purges as one purge of everything', () => {
  const standing = new StandingCommands();
  for (let at = 0; at < 1001; at++) standing.add(purge(at), at);
  expect(standing.at(2000)).toEqual([
    expect.objectContaining({ purge: expect.objectContaining({ target: { kind: 'all' } }) }),
  ]);
});
