import { expect, test } from '@jest/globals';
import { seededRandom } from '../../base/clock.ts';
import { SUSPECT_PAUSE_MS } from './address-book.ts';
import { HEARTBEAT_INTERVAL_MS, HeartbeatTurns, TOLD, toldNodes } from './heartbeat-turns.ts';
import { MAX_NODES } from './peer-table.ts';

const addresses = (count: number) => Array.from({ length: count }, (_, i) => `http://a:${i + 1}`);

/** A node whose heartbeats are answered when the test says so. */
class Stage {
  now = 0;
  peers: string[] = [];
  forbidden = '';
  readonly asked: string[] = [];
  readonly turns: HeartbeatTurns = new HeartbeatTurns({
    now: () => this.now,
    peers: () => this.peers,
    mayAsk: (url) => url !== this.forbidden,
    ask: (url) => {
      this.turns.onSent(url);
      this.asked.push(url);
    },
  });

  /** Answers all heartbeats under way, and returns their addresses. */
  answered(): string[] {
    const asked = this.asked.splice(0);
    for (const url of asked) {
      this.turns.onClosed();
      this.turns.onAnswer(url, false);
    }
    return asked;
  }
}

test('a new address is asked at once, one that is known or forbidden is not', () => {
  const stage = new Stage();
  stage.forbidden = 'http://b:1';
  for (const url of ['http://a:1', 'http://a:1', 'http://b:1']) stage.turns.hearOf(url);
  expect(stage.asked).toEqual(['http://a:1']);
});

test('of many new addresses a few are asked at once, and all others soon, not in a round of minutes', () => {
  const stage = new Stage();
  const all = addresses(200);
  for (const url of all) stage.turns.hearOf(url);
  const seen = new Set(stage.answered());
  expect(seen.size).toBeLessThan(20);
  let beats = 0;
  for (; seen.size < all.length; beats++) {
    stage.turns.beat();
    for (const url of stage.answered()) seen.add(url);
  }
  // The regular heartbeats alone would have taken as many beats as there are addresses.
  expect(beats).toBeLessThanOrEqual(all.length / 4);
});

test('no new address is asked while many heartbeats are under way', () => {
  const stage = new Stage();
  for (const url of addresses(200)) stage.turns.hearOf(url);
  const underWay = stage.asked.length;
  stage.turns.beat();
  // The regular one.
  expect(stage.asked.length).toBe(underWay + 1);
});

test('with as many peers as a node may have, each is asked once a minute, and others are asked too', () => {
  const stage = new Stage();
  const all = addresses(1000);
  stage.peers = all.slice(-120);
  for (const url of all) stage.turns.addresses.hear(url);
  for (const url of all) stage.turns.addresses.onAsked(url);
  const counts = new Map<string, number>();
  const MINUTES = 5;
  for (; stage.now < MINUTES * 60_000; stage.now += HEARTBEAT_INTERVAL_MS) {
    stage.turns.beat();
    for (const url of stage.answered()) counts.set(url, (counts.get(url) ?? 0) + 1);
  }
  for (const peer of stage.peers) expect(counts.get(peer)).toBeGreaterThanOrEqual(MINUTES);
  expect(counts.size).toBeGreaterThan(stage.peers.length);
});

test('a node that has failed is asked at once, and one that fails again soon after in a while', () => {
  const stage = new Stage();
  stage.turns.hearOf('http://a:1');
  stage.answered();
  stage.turns.ping('http://a:1');
  stage.turns.ping('http://a:1');
  expect(stage.answered()).toEqual(['http://a:1']);
  stage.turns.hearOf('http://a:2');
  stage.turns.hearOf('http://a:3');
  stage.answered();
  stage.now = SUSPECT_PAUSE_MS;
  stage.turns.beat();
  expect(stage.answered()).toEqual(['http://a:1']);
});

test('a small network is told whole, a large one by some peers and a sample of all', () => {
  const random = seededRandom(1);
  const few = addresses(TOLD);
  expect(toldNodes(few.slice(0, 9), few, random)).toEqual({ nodes: few, nearNodes: 0 });
  const all = addresses(1000);
  const peers = all.slice(-120);
  const { nodes, nearNodes } = toldNodes(peers, all, random);
  expect([nodes.length, new Set(nodes).size, nearNodes]).toEqual([TOLD, TOLD, TOLD / 2]);
  expect(peers).toEqual(expect.arrayContaining(nodes.slice(0, nearNodes)));
  expect(nodes.filter((url) => !peers.includes(url)).length).toBeGreaterThan(TOLD / 4);
});

test('once as many are known as a node remembers, only peers of peers are asked soon', () => {
  const stage = new Stage();
  const known = addresses(MAX_NODES);
  for (const url of known) stage.turns.addresses.hear(url);
  for (const url of known) stage.turns.addresses.onAsked(url);
  stage.peers = ['http://a:1'];
  const nodes = ['http://near:1', 'http://far:1'];
  stage.turns.hearTold('http://a:2', { nodes: ['http://b:1'], nearNodes: 1 });
  stage.turns.hearTold('http://a:1', { nodes, nearNodes: 1 });
  expect(stage.answered()).toEqual(['http://near:1']);
  expect(stage.turns.addresses.has('http://far:1')).toBe(true);
});

test('another node of the site is asked at once in place of one that is silent', () => {
  const stage = new Stage();
  for (const url of addresses(3)) stage.turns.hearOf(url);
  for (const url of stage.answered()) stage.turns.onAnswer(url, false, 'fra');
  stage.turns.onMiss('http://a:3');
  expect(stage.answered()).toEqual(['http://a:1']);
});

test('a peer that did not answer is asked again soon, any other node in its turn', () => {
  const stage = new Stage();
  for (const url of addresses(3)) stage.turns.hearOf(url);
  stage.answered();
  stage.peers = ['http://a:3'];
  stage.turns.onMiss('http://a:2');
  stage.turns.onMiss('http://a:3');
  stage.now = SUSPECT_PAUSE_MS;
  for (let i = 0; i < 3; i++) stage.turns.beat();
  expect(stage.answered()).toEqual(['http://a:3', 'http://a:1', 'http://a:2']);
});
