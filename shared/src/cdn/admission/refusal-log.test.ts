import { describe, expect, test } from '@jest/globals';
import {
  MAX_RECENT_REFUSALS,
  MAX_REFUSED_CLIENTS,
  mergeRefusals,
  mostRefused,
  RefusalLog,
} from './refusal-log.ts';

describe('RefusalLog', () => {
  test('lists the latest refusals first, and those of one kind to one client as one', () => {
    const log = new RefusalLog();
    log.record('requests', 'refused', 'a', 1);
    log.record('transfers', 'refused', 'b', 2);
    log.record('requests', 'refused', 'a', 3);
    expect(log.report().recent).toEqual([
      { resource: 'requests', outcome: 'refused', client: 'a', at: 3, times: 2 },
      { resource: 'transfers', outcome: 'refused', client: 'b', at: 2, times: 1 },
    ]);
  });

  test('a flood from many addresses keeps the list and the counts bounded', () => {
    const log = new RefusalLog();
    for (let i = 0; i < 10_000; i++) {
      log.record('requests', 'refused', `10.0.${i >> 8}.${i & 255}`, i);
      log.record('requests', 'refused', 'the worst', i);
    }
    const { recent, clients } = log.report();
    expect(recent).toHaveLength(MAX_RECENT_REFUSALS);
    expect(clients.requests).toHaveLength(MAX_REFUSED_CLIENTS);
    expect(clients.requests?.[0]).toEqual({ client: 'the worst', count: 10_000, error: 0 });
  });

  test('the logs of several processes are merged into one', () => {
    const [a, b] = [new RefusalLog(), new RefusalLog()];
    a.record('origins', 'refused', 'x', 5);
    b.record('origins', 'refused', 'x', 9);
    b.record('origins', 'evicted', 'y', 7);
    const merged = mergeRefusals([a.report(), b.report()]);
    expect(merged.recent.map(({ client, at }) => [client, at])).toEqual([
      ['x', 9],
      ['y', 7],
      ['x', 5],
    ]);
    expect(merged.clients.origins).toEqual([
      { client: 'x', count: 2, error: 0 },
      { client: 'y', count: 1, error: 0 },
    ]);
  });

  test('the clients refused most are listed per resource, by the certain part of their counts', () => {
    const clients = {
      origins: [
        { client: 'often', count: 9, error: 0 },
        { client: 'once', count: 1, error: 0 },
      ],
      requests: [
        { client: 'new', count: 20, error: 18 },
        { client: 'often', count: 3, error: 0 },
      ],
    };
    expect(mostRefused(clients, 3)).toEqual([
      { resource: 'origins', client: 'often', count: 9, error: 0 },
      { resource: 'requests', client: 'often', count: 3, error: 0 },
      { resource: 'requests', client: 'new', count: 20, error: 18 },
    ]);
    expect(mostRefused({}, 3)).toEqual([]);
  });
});
