import { describe, expect, test } from '@jest/globals';
import { peerInfo as info } from '../../../testing/peer-info.ts';
import { hashText } from './hrw.ts';
import { minRtt, type Peer, type PeerInfo, type PeerPolicy } from './peer.ts';
import { ISOLATION_MS, MAX_MISSES, MAX_NODES, PeerTable, SAMPLES } from './peer-table.ts';

const URL_A = 'http://10.0.0.1:3125';
const URL_B = 'http://10.0.0.2:3125';

const newTable = (org?: string) => new PeerTable({ name: 'me', org });

/** A table that knows the node `a`, and that node. */
function withPeer(part: Partial<PeerInfo> = {}, org?: string): { table: PeerTable; peer: Peer } {
  const table = newTable(org);
  table.onAnswer(URL_A, info(part), 10, 0);
  return { table, peer: table.get('a') as Peer };
}

function miss(table: PeerTable, url: string, times: number): void {
  for (let i = 0; i < times; i++) table.onMiss(url, 0);
}

describe('the answer to a heartbeat', () => {
  test('a node that answers is known and can be used', () => {
    const table = newTable();
    const told = info({ load: 3, weight: 2, publicUrl: 'https://a.example' });
    expect(table.onAnswer(URL_A, told, 12, 0)).toBe('peer');
    const peer = table.get('a') as Peer;
    expect(peer).toMatchObject({ ...told, url: URL_A, rtts: [12], seed: hashText('a') });
    expect([...table.peers]).toEqual([peer]);
    expect(table.isAlive(peer)).toBe(true);
    expect(table.isUsable(peer, 0)).toBe(true);
    expect(table.get('b')).toBeUndefined();
  });

  test('a depot is at the nodes that say so, also after it has moved', () => {
    const { table, peer } = withPeer({ depot: 'tag1' });
    table.onAnswer(URL_B, info({ name: 'b' }), 10, 0);
    expect([table.withDepot('tag1'), table.withDepot('tag2')]).toEqual([[peer], []]);
    table.onAnswer(URL_A, info(), 10, 0);
    table.onAnswer(URL_B, info({ name: 'b', depot: 'tag1' }), 10, 0);
    expect(table.withDepot('tag1')).toEqual([table.get('b')]);
  });

  test('the latest answer of a node counts', () => {
    const { table, peer } = withPeer({ load: 3, weight: 2, publicUrl: 'https://a.example' });
    table.onAnswer(URL_A, info({ load: 1, weight: 5, policy: 'closed', draining: true }), 11, 0);
    expect(table.get('a')).toBe(peer);
    expect(peer).toMatchObject({ load: 1, weight: 5, policy: 'closed', draining: true });
    expect(peer.publicUrl).toBeUndefined();
  });

  test('the distance is the shortest of the last 32 round trips', () => {
    const { table, peer } = withPeer();
    for (let i = 1; i < SAMPLES; i++) table.onAnswer(URL_A, info(), 20 + i, 0);
    expect(peer.rtts).toHaveLength(32);
    expect(minRtt(peer)).toBe(10);
    table.onAnswer(URL_A, info(), 99, 0);
    expect(peer.rtts).toHaveLength(32);
    expect(minRtt(peer)).toBe(21);
    expect(peer.rtts.at(-1)).toBe(99);
  });

  test('a forwarded request brings the load up to date', () => {
    const { table, peer } = withPeer();
    table.onLoad('a', 7);
    table.onLoad('unknown', 7);
    expect(peer.load).toBe(7);
  });
});

describe('addresses', () => {
  test('a node does not become its own peer, whatever its address', () => {
    const table = newTable();
    expect(table.onAnswer(URL_A, info({ name: 'me' }), 1, 0)).toBe('self');
    expect([...table.peers]).toEqual([]);
  });

  test('a node with two addresses is one peer, under the address known first', () => {
    const { table, peer } = withPeer();
    expect(table.onAnswer(URL_B, info({ load: 9 }), 1, 0)).toBe('other');
    expect(peer).toMatchObject({ url: URL_A, load: 0, rtts: [10] });
    expect([...table.peers]).toHaveLength(1);
  });

  test('a node that has moved is found under its new address', () => {
    const { table, peer } = withPeer();
    miss(table, URL_A, MAX_MISSES);
    expect(table.onAnswer(URL_B, info(), 5, 0)).toBe('peer');
    expect(peer.url).toBe(URL_B);
    expect(table.isUsable(peer, 0)).toBe(true);
    miss(table, URL_A, MAX_MISSES);
    expect(table.isAlive(peer)).toBe(true);
  });

  test.each([
    ['a node with a new name', 'b'],
    ['this node itself', 'me'],
  ])('a node is gone once %s answers at its address again and again', (_, name) => {
    const { table, peer } = withPeer();
    for (let i = 0; i < MAX_MISSES; i++) {
      expect(table.isUsable(peer, 0)).toBe(true);
      table.onAnswer(URL_A, info({ name }), 5, 0);
    }
    expect(table.isUsable(peer, 0)).toBe(false);
    expect(table.onAnswer(URL_A, info(), 5, 0)).toBe('peer');
    expect(table.isUsable(peer, 0)).toBe(true);
  });

  test('a node is gone once its address has become the second address of another node', () => {
    const { table, peer } = withPeer();
    table.onAnswer(URL_B, info({ name: 'b' }), 5, 0);
    for (let i = 0; i < MAX_MISSES; i++) {
      expect(table.onAnswer(URL_A, info({ name: 'b' }), 5, 0)).toBe('other');
    }
    expect(table.isUsable(peer, 0)).toBe(false);
    expect(table.isUsable(table.get('b') as Peer, 0)).toBe(true);
  });

  test('nodes that take turns at one address all stay', () => {
    const { table, peer } = withPeer();
    for (let i = 0; i < 10; i++) {
      table.onAnswer(URL_A, info({ name: i % 2 ? 'a' : 'b' }), 5, 0);
      expect(table.isAlive(peer)).toBe(true);
      expect(table.isAlive(table.get('b') as Peer)).toBe(true);
    }
  });
});

describe('failures', () => {
  test('a node is dead after three unanswered heartbeats, and alive after one answer', () => {
    const { table, peer } = withPeer();
    miss(table, URL_A, 2);
    expect(table.isUsable(peer, 0)).toBe(true);
    miss(table, URL_A, 1);
    expect(table.isAlive(peer)).toBe(false);
    expect(table.isUsable(peer, 0)).toBe(false);
    table.onAnswer(URL_A, info(), 10, 0);
    expect(table.isUsable(peer, 0)).toBe(true);
  });

  test('unanswered heartbeats count only in a row, and only for their address', () => {
    const { table, peer } = withPeer();
    for (let i = 0; i < 5; i++) {
      miss(table, URL_A, 2);
      miss(table, URL_B, 5);
      table.onAnswer(URL_A, info(), 10, 0);
    }
    expect(table.isUsable(peer, 0)).toBe(true);
  });

  test('an unanswered heartbeat does not count if the node has sent anything else since', () => {
    const { table, peer } = withPeer();
    table.onHeard('a', 5000);
    table.onHeard('unknown', 5000);
    for (let sentAt = 1000; sentAt <= 5000; sentAt += 1000) table.onMiss(URL_A, sentAt, sentAt);
    expect(peer.misses).toBe(0);
    for (let sentAt = 5001; sentAt < 5001 + MAX_MISSES; sentAt++)
      table.onMiss(URL_A, sentAt, sentAt);
    expect(table.isAlive(peer)).toBe(false);
  });

  test('busy nodes may be silent for longer, by their latest heartbeats', () => {
    const { table } = withPeer();
    expect([table.silenceMs(), table.silenceMs('unknown')]).toEqual([2000, 2000]);
    expect(table.silenceMs('a')).toBe(2000);
    table.onAnswer(URL_A, info(), 900, 0);
    expect(table.silenceMs('a')).toBe(3600);
    table.onAnswer(URL_A, info(), 60_000, 0);
    expect(table.silenceMs('a')).toBe(10_000);
    for (let i = 0; i < 8; i++) table.onAnswer(URL_A, info(), 10, 0);
    expect(table.silenceMs('a')).toBe(2000);
  });

  test('after a failed forward a node gets no requests until its next good heartbeat', () => {
    const { table, peer } = withPeer();
    table.onForwardFailed('a', 0);
    table.onForwardFailed('unknown', 0);
    expect(table.isUsable(peer, 0)).toBe(false);
    expect(table.isAlive(peer)).toBe(true);
    table.onAnswer(URL_A, info(), 10, 0);
    expect(table.isUsable(peer, 0)).toBe(true);
  });

  test('a node counts as lost from a failed forward until it answers, is dead, or may not be used', () => {
    const { table, peer } = withPeer();
    expect(table.lost(0)).toEqual([]);
    table.onForwardFailed('a', 0);
    expect(table.lost(0)).toEqual([peer]);
    table.onAnswer(URL_A, info(), 10, 0);
    expect(table.lost(0)).toEqual([]);
    table.onForwardFailed('a', 0);
    table.onDamaged('a', 0);
    expect([table.lost(0), table.lost(ISOLATION_MS)]).toEqual([[], [peer]]);
    miss(table, URL_A, MAX_MISSES);
    expect(table.lost(ISOLATION_MS)).toEqual([]);
  });

  test('a node that sent damage gets no requests for ten minutes, heartbeats or not', () => {
    const { table, peer } = withPeer();
    table.onDamaged('a', 1000);
    table.onDamaged('unknown', 1000);
    table.onAnswer(URL_A, info(), 10, 0);
    expect(table.isUsable(peer, 1000 + ISOLATION_MS - 1)).toBe(false);
    expect(table.isUsable(peer, 1000 + ISOLATION_MS)).toBe(true);
  });

  test('a node that is shutting down is not asked any more', () => {
    const { table, peer } = withPeer({ draining: true });
    expect(table.isAlive(peer)).toBe(true);
    expect(table.isUsable(peer, 0)).toBe(false);
  });
});

describe('policies', () => {
  test.each<[PeerPolicy, string | undefined, boolean]>([
    ['open', undefined, true],
    ['open', 'acme', true],
    ['closed', undefined, false],
    ['closed', 'acme', false],
    ['org:acme', 'acme', true],
    ['org:acme', 'other', false],
    ['org:acme', undefined, false],
    ['org:undefined', undefined, false],
    ['org:ACME', 'acme', false],
  ])('a node that is %s can be used by one of organisation %s: %s', (policy, org, usable) => {
    const { table, peer } = withPeer({ policy }, org);
    expect(table.isUsable(peer, 0)).toBe(usable);
  });
});

describe('a full table', () => {
  function fullTable(): PeerTable {
    const table = newTable();
    for (let i = 0; i < MAX_NODES; i++) {
      table.onAnswer(`http://10.0.0.1:${i + 1}`, info({ name: `node-${i}` }), 10, 0);
    }
    return table;
  }

  test('has no place for all nodes, and keeps track of those it has', () => {
    const table = fullTable();
    const strangers = Array.from({ length: 200 }, (_, i) => `stranger-${i}`);
    const outcomes = strangers.map((name, i) =>
      table.onAnswer(`http://10.0.0.2:${i + 1}`, info({ name }), 20, 0),
    );
    expect(outcomes).toContain('full');
    expect([...table.peers]).toHaveLength(MAX_NODES);
    expect(table.onAnswer('http://10.0.0.1:1', info({ name: 'node-0', load: 4 }), 10, 0)).toBe(
      'peer',
    );
    expect(table.get('node-0')?.load).toBe(4);
  });

  test('makes room by forgetting a node that is dead', () => {
    const table = fullTable();
    miss(table, 'http://10.0.0.1:8', MAX_MISSES);
    expect(table.onAnswer(URL_B, info(), 10, 0)).toBe('peer');
    expect(table.get('node-7')).toBeUndefined();
    expect([...table.peers]).toHaveLength(MAX_NODES);
  });

  test('keeps the near nodes, and of the others a sample of all, not those that it met first', () => {
    const table = newTable();
    const meet = (kind: string, count: number, rtt: number) => {
      for (let i = 0; i < count; i++) {
        const name = `${kind}-${i}`;
        table.onAnswer(`http://${name}.example`, info({ name }), rtt, 0);
      }
    };
    meet('early', MAX_NODES, 50);
    meet('late', MAX_NODES / 2, 50);
    meet('near', 100, 5);
    meet('latest', MAX_NODES / 2, 60);
    const kept = (kind: string) =>
      [...table.peers].filter(({ name }) => name.startsWith(`${kind}-`)).length;
    expect([...table.peers]).toHaveLength(MAX_NODES);
    expect(kept('near')).toBe(100);
    // Half of the early ones count as near; of the other half of the table, each kind has a third.
    expect(kept('latest')).toBeGreaterThan(MAX_NODES / 8);
    expect(kept('latest')).toBeLessThan(MAX_NODES / 4);
    expect(kept('late')).toBeGreaterThan(MAX_NODES / 8);
  });
});
