import { expect, test } from '@jest/globals';
import { peerInfo as info } from '../../../testing/peer-info.ts';
import type { Peer } from './peer.ts';
import { MAX_MISSES, MAX_RUMOURED_NODES, NOTICING_MS, PeerTable } from './peer-table.ts';

function miss(table: PeerTable, url: string, now = 0): void {
  for (let i = 0; i < MAX_MISSES; i++) table.onMiss(url, now);
}

const own = { name: 'me', org: undefined };
const sees = (...names: string[]) => names.map((name) => [name, 2] as const);

const seenBy = { a: ['me', 'b', 'lost', 'never-met'], b: ['a', 'lost'] };
/** The nodes a and b answer heartbeats. */
function tell(table: PeerTable, now: number) {
  for (const [name, seen] of Object.entries(seenBy)) {
    table.onAnswer(`http://${name}`, info({ name, sees: sees(...seen) }), 1, now);
  }
}
function setUp() {
  const table = new PeerTable(own);
  tell(table, 0);
  table.onAnswer('http://lost', info({ name: 'lost' }), 1, 0);
  return table;
}
const heard = (table: PeerTable, now = 0) => {
  const members = [...table.peers].filter((peer) => table.isUsable(peer, now));
  return table
    .hearsay(members, now)
    .map(({ name, weight, through }) => [name, weight, through.map((peer) => peer.name)]);
};

test('a node that was never met is known through the nodes that see it', () => {
  expect(heard(setUp())).toEqual([['never-met', 2, ['a']]]);
});

test('a node that does not answer is known through others, until it answers again', () => {
  const table = setUp();
  table.onForwardFailed('lost', 0);
  tell(table, NOTICING_MS);
  expect(heard(table)).toContainEqual(['lost', 2, ['a', 'b']]);
  table.onAnswer('http://lost', info({ name: 'lost' }), 1, 0);
  expect(heard(table)).toEqual([['never-met', 2, ['a']]]);
});

test.each([
  ['is draining', { draining: true }],
  ['does not let this one use it', { policy: 'closed' as const }],
])('there is no detour to a node that %s', (_, part) => {
  const table = setUp();
  table.onAnswer('http://lost', info({ name: 'lost', ...part }), 1, 0);
  table.onForwardFailed('lost', 0);
  expect(heard(table)).toEqual([['never-met', 2, ['a']]]);
});

test('there is no detour to a node that sent damaged chunks', () => {
  const table = setUp();
  table.onDamaged('lost', 0);
  expect(heard(table)).toEqual([['never-met', 2, ['a']]]);
});

const rumoured = (table: PeerTable, now = 0) => {
  const { nodes, through } = table.rumours(now);
  return nodes.map(({ name, weight }) => [name, weight, through(name).map((peer) => peer.name)]);
};

test('rumours tell of all nodes that any node sees, and this one cannot use', () => {
  const table = setUp();
  expect(rumoured(table)).toEqual([['never-met', 2, ['a']]]);
  table.onForwardFailed('lost', 0);
  tell(table, NOTICING_MS);
  expect(rumoured(table)).toContainEqual(['lost', 2, ['a', 'b']]);
  // Nor does this one use a node that cannot be used itself.
  table.onForwardFailed('b', 0);
  expect(rumoured(table)).toContainEqual(['lost', 2, ['a']]);
});

test.each([
  ['a failed request', (table: PeerTable) => table.onForwardFailed('lost', 1000)],
  ['heartbeats', (table: PeerTable) => miss(table, 'http://lost', 1000)],
])(
  'without times, what others said before they can have noticed a loss, seen by %s, does not count',
  (_, lose) => {
    const table = setUp();
    lose(table);
    tell(table, 999 + NOTICING_MS);
    // Another failure does not start the time again, but an answer does.
    table.onForwardFailed('lost', 5000);
    expect(rumoured(table)).toContainEqual(['lost', 2, []]);
    expect(heard(table)).toEqual([['never-met', 2, ['a']]]);
    table.onAnswer('http://b', info({ name: 'b', sees: sees('lost') }), 1, 1000 + NOTICING_MS);
    expect(rumoured(table)).toContainEqual(['lost', 2, ['b']]);
    expect(heard(table)).toContainEqual(['lost', 2, ['b']]);
    table.onAnswer('http://lost', info({ name: 'lost' }), 1, 50_000);
    table.onForwardFailed('lost', 50_000);
    expect(rumoured(table)).toContainEqual(['lost', 2, []]);
  },
);

test('of a lost node, only the word of nodes counts that have heard it since: all lose a node that leaves, at other times', () => {
  const table = setUp();
  const LOST_AT = 10_000;
  const RTT = 100;
  table.onForwardFailed('lost', LOST_AT);
  /** At `now`, b says that it heard the lost node so long ago. */
  const says = (now: number, ago: number) => {
    const told = { sees: sees('a', 'lost'), heard: [0, ago] };
    table.onAnswer('http://b', info({ name: 'b', ...told }), RTT, now);
    return rumoured(table).find(([name]) => name === 'lost')?.[2];
  };
  // It heard the node before, however late it says so.
  expect(says(LOST_AT + 60_000, 60_000)).toEqual([]);
  // The answer took a while: perhaps it heard the node before.
  expect(says(LOST_AT + 2000, 1900)).toEqual([]);
  expect(says(LOST_AT + 2000, 1899)).toEqual(['b']);
  expect(heard(table)).toContainEqual(['lost', 2, ['b']]);
  // A time is missing.
  table.onAnswer('http://b', info({ name: 'b', sees: sees('lost'), heard: [] }), RTT, 99_000);
  expect(heard(table)).toEqual([['never-met', 2, ['a']]]);
});

test('a node was heard when it answered a heartbeat or anything else', () => {
  const table = setUp();
  table.onAnswer('http://a', info({ name: 'a' }), 1, 500);
  const a = table.get('a') as Peer;
  expect(table.heardAgo(a, 800)).toBe(300);
  table.onHeard('a', 700);
  expect(table.heardAgo(a, 800)).toBe(100);
});

test('rumours end when the nodes that told them take them back, or are forgotten', () => {
  const table = setUp();
  table.onAnswer('http://a', info({ name: 'a', sees: sees('me', 'b') }), 1, 0);
  expect(rumoured(table)).toEqual([]);
  table.onAnswer('http://b', info({ name: 'b', sees: sees('other') }), 1, 0);
  expect(rumoured(table)).toEqual([['other', 2, ['b']]]);
  miss(table, 'http://b');
  // The others still see it, but none of them sees the other one.
  expect(rumoured(table).map(([name]) => name)).not.toContain('other');
});

test('rumours have the lowest weight that is told, so that no single node can make another the best', () => {
  const table = setUp();
  const tell = (name: string, weight: number) =>
    table.onAnswer(`http://${name}`, info({ name, sees: [['never-met', weight]] }), 1, 0);
  tell('a', 5);
  expect(rumoured(table)).toEqual([['never-met', 5, ['a']]]);
  tell('b', 1000);
  expect(rumoured(table)).toContainEqual(['never-met', 5, ['a', 'b']]);
  tell('a', 7);
  expect(rumoured(table)).toContainEqual(['never-met', 7, ['a', 'b']]);
  miss(table, 'http://a');
  table.onAnswer('http://b', info({ name: 'b', sees: [['never-met', 3]] }), 1, 0);
  expect(rumoured(table)).toContainEqual(['never-met', 3, ['b']]);
});

test('rumours tell of a bounded number of nodes, whatever names others make up', () => {
  const table = setUp();
  for (let i = 0; i < MAX_RUMOURED_NODES / 100 + 1; i++) {
    const seen = Array.from({ length: 100 }, (_, j) => `made-up-${i}-${j}`);
    const name = `liar-${i}`;
    table.onAnswer(`http://${name}`, info({ name, sees: sees(...seen) }), 1, 0);
  }
  expect(table.rumours(0).nodes).toHaveLength(MAX_RUMOURED_NODES);
});
