import { beforeEach, expect, test } from '@jest/globals';
import { MillraceError } from '@millrace/shared/base/errors';
import { depotTagOf } from '@millrace/shared/cdn/depot/depot-file';
import { PeerFailure } from '@millrace/shared/cdn/fetch/peer-failure';
import type { Peer } from '@millrace/shared/cdn/routing/peer';
import { PeerTable } from '@millrace/shared/cdn/routing/peer-table';
import { Metrics } from '../figures/metrics.ts';
import type { StoredFile } from './depot-message.ts';
import { DepotPeers, type OwnCopies } from './depot-peers.ts';
import type { Membership } from './membership.ts';
import type { PeerClient } from './peer-client.ts';

const ID = 'AAAAAAAAAAAAHOME';
const FILE: StoredFile = { length: 1, sha256: 'aa', leftMs: 1 };
const { signal } = new AbortController();
const failing = (code: string) => expect.objectContaining({ code });

/** Answers of the nodes: `has`, or the code of an error; `silent`: a node that does not answer. */
let answers: Record<string, string>;
let asked: string[];
let table: PeerTable;
let depots: DepotPeers;

function met(name: string, depot: string | undefined, keepsOf?: readonly string[]): void {
  const info = {
    name,
    depot,
    keepsOf,
    load: 0,
    weight: 1,
    policy: 'open',
    draining: false,
  } as const;
  table.onAnswer(`http://${name}`, { ...info, publicUrl: undefined, sees: [] }, 1, 0);
}

function dead(name: string): void {
  for (let i = 0; i < 3; i++) table.onMiss(`http://${name}`, 1);
}

beforeEach(() => {
  [answers, asked] = [{}, []];
  table = new PeerTable({ name: 'self', org: undefined });
  const client: Partial<PeerClient> = {
    async askDepot({ name }) {
      asked.push(name);
      const code = answers[name] ?? 'no-such-allocation';
      if (code === 'has') return FILE;
      if (code !== 'silent') throw new MillraceError(code as 'no-such-allocation');
      throw new PeerFailure(name, new MillraceError('origin-timeout'));
    },
  };
  const membership = { table, isLearning: false, onForwardFailed() {} };
  depots = new DepotPeers({
    ...{ membership: membership as unknown as Membership, client: client as PeerClient },
    metrics: new Metrics(),
  });
});

test('only the depot is asked while it answers, whatever copies there are', async () => {
  met('home', 'HOME');
  met('keeper', 'KEEP', ['HOME']);
  Object.assign(answers, { home: 'has', keeper: 'has' });
  expect(await depots.ask(ID, 'proof', signal)).toBe(FILE);
  answers.home = 'no-such-allocation';
  await expect(depots.ask(ID, 'proof', signal)).rejects.toEqual(failing('no-such-allocation'));
  answers.home = 'allocation-expired';
  await expect(depots.ask(ID, 'proof', signal)).rejects.toEqual(failing('allocation-expired'));
  expect(asked).toEqual(['home', 'home', 'home']);
});

test('a depot that fails is followed by the nodes with copies, and one that is dead comes last', async () => {
  met('home', 'HOME');
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) met(name, `KEE${name}`);
  met('none', undefined);
  Object.assign(answers, { home: 'silent' });
  await expect(depots.ask(ID, 'proof', signal)).rejects.toEqual(failing('depot-unreachable'));
  expect([asked[0], asked.length, asked.includes('none')]).toEqual(['home', 6, false]);
  const [, first = '', second = ''] = asked;
  Object.assign(answers, { [first]: 'silent', [second]: 'has' });
  dead('home');
  asked = [];
  expect(await depots.ask(ID, 'proof', signal)).toBe(FILE);
  expect(asked).toEqual([first, second]);
  // A node that is to fetch a copy takes the word of the depot alone.
  asked = [];
  await expect(depots.ask(ID, 'proof', signal, 'depot')).rejects.toEqual(
    failing('depot-unreachable'),
  );
  expect(asked).toEqual(['home']);
});

test('of a depot that is not known those nodes are asked that keep its exNodes, and nobody else', async () => {
  met('a', 'KEEA', ['OTHE']);
  met('b', 'KEEB', ['OTHE', 'HOME']);
  Object.assign(answers, { a: 'has', b: 'has' });
  expect(await depots.ask(ID, 'proof', signal)).toBe(FILE);
  expect(asked).toEqual(['b']);
  expect([depots.knows(ID), depots.mayFind(ID)]).toEqual([false, true]);
  expect(depots.mayFind('AAAAAAAAAAAAmade')).toBe(false);
});

test('a copy of this node itself is found first', async () => {
  met('b', 'KEEB', ['HOME']);
  answers.b = 'has';
  const own: OwnCopies = {
    depots: [depotTagOf(ID)],
    findFor: async (_, proof) => {
      if (proof === 'proof') return { ...FILE, name: 'own' };
      throw new MillraceError('no-such-allocation');
    },
  };
  depots.copies = own;
  expect(await depots.ask(ID, 'proof', signal)).toMatchObject({ name: 'own' });
  expect(asked).toEqual([]);
  expect(await depots.ask(ID, 'other', signal)).toBe(FILE);
});

test('copies go to three nodes with depots that answer', () => {
  for (const name of ['a', 'b', 'c', 'd', 'e']) met(name, `KEE${name}`);
  met('home', 'HOME');
  const names = (list: readonly Peer[]) => list.map(({ name }) => name);
  const before = names(depots.keepers(ID));
  expect(before).toHaveLength(3);
  dead(before[1] as string);
  const after = names(depots.keepers(ID));
  expect(after.slice(0, 2)).toEqual([before[0], before[2]]);
  expect(after).not.toContain('home');
});
