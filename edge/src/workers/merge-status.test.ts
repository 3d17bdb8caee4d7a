import { describe, expect, test } from '@jest/globals';
import { mergeStatus } from './merge-status.ts';

const worker = (index: number, more: object = {}) => ({
  name: `edge-${index}`,
  uptimeSeconds: 10 + index,
  draining: false,
  chunkBytes: 65_536,
  transfers: { active: index, requests: 5 },
  bytes: { toClients: 100 },
  cache: { memory: { bytes: 7 }, disk: null },
  peers: [{ name: `edge-${1 - index}` }, { name: 'far', rttMs: 3 }],
  process: { residentBytes: 1000 },
  ...more,
});

describe('mergeStatus', () => {
  test('adds up counts, keeps other values, and shows each process', () => {
    const merged = mergeStatus('edge', [worker(0), worker(1)]);
    expect(merged).toMatchObject({
      name: 'edge',
      uptimeSeconds: 11,
      chunkBytes: 65_536,
      transfers: { active: 1, requests: 10 },
      bytes: { toClients: 200 },
      cache: { memory: { bytes: 14 }, disk: null },
      process: { residentBytes: 2000 },
    });
    expect(merged.workers).toHaveLength(2);
  });

  test('peers are the nodes outside the edge, with their own figures', () => {
    expect(mergeStatus('edge', [worker(0), worker(1)]).peers).toEqual([{ name: 'far', rttMs: 3 }]);
  });

  test('has only the name of the edge if no process answers', () => {
    expect(mergeStatus('edge', [])).toEqual({ name: 'edge', workers: [] });
  });

  test('the edge drains when all of its processes do', () => {
    const one = mergeStatus('edge', [worker(0, { draining: true }), worker(1)]);
    const all = mergeStatus('edge', [worker(0, { draining: true }), worker(1, { draining: true })]);
    expect([one.draining, all.draining]).toEqual([false, true]);
  });

  test('adds up errors that not all processes have met', () => {
    const [one, two] = [{ errors: { a: 1 } }, { errors: { a: 2, b: 5 } }];
    expect(mergeStatus('edge', [worker(0, one), worker(1, two)]).errors).toEqual({ a: 3, b: 5 });
  });
});
