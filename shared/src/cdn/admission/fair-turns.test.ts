import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { FairTurns } from './fair-turns.ts';

const never = new AbortController().signal;

describe('FairTurns', () => {
  test('a client behind another one’s flood comes next', async () => {
    const turns = new FairTurns(2);
    const order: string[] = [];
    const ends: (() => void)[] = [];
    const take = (client: string) =>
      turns.take('origin', client, never).then((end) => {
        order.push(client);
        ends.push(end);
      });
    const flood = Array.from({ length: 1000 }, () => take('flood'));
    await Promise.all(flood.slice(0, 2));
    const honest = take('honest');
    ends[0]?.();
    await honest;
    expect(order).toEqual(['flood', 'flood', 'honest']);
    for (let next = 1; next < ends.length; next++) {
      ends[next]?.();
      await new Promise(setImmediate);
    }
    await Promise.all(flood);
    expect([order.length, turns.size]).toEqual([1001, 0]);
  });

  test('a client keeps to its share, and leaves the rest to others that come later', async () => {
    const turns = new FairTurns(3);
    const order: string[] = [];
    const take = async (client: string, share: number) => {
      const end = await turns.take('origin', client, never, share);
      order.push(client);
      return end;
    };
    const own = [take('a', 2), take('a', 2), take('a', 2)];
    const end = await own[1];
    await take('b', 2);
    expect(order).toEqual(['a', 'a', 'b']);
    end?.();
    await own[2];
    expect(order).toEqual(['a', 'a', 'b', 'a']);
  });

  test('a caller that gives up waiting takes no turn', async () => {
    const turns = new FairTurns(1);
    const end = await turns.take('origin', 'a', never);
    const controller = new AbortController();
    const waiting = turns.take('origin', 'b', controller.signal);
    controller.abort(new Error('gone'));
    await expect(waiting).rejects.toThrow('gone');
    end();
    end();
    expect(turns.size).toBe(0);
  });

  test('one place’s line does not hold up another', async () => {
    const turns = new FairTurns(1);
    await turns.take('a', 'x', never);
    (await turns.take('b', 'x', never))();
    expect(turns.size).toBe(1);
  });

  test('whatever comes: turns are bounded, none is idle that somebody may have, and whoever has fewest comes next', async () => {
    const step = fc.record({
      kind: fc.constantFrom('take', 'take', 'end', 'abort'),
      client: fc.constantFrom('a', 'b', 'c', 'd'),
      pick: fc.nat(1000),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 1, max: 4 }),
        fc.array(step, { maxLength: 60 }),
        async (max, wanted, steps) => {
          const share = Math.min(max, wanted);
          const turns = new FairTurns(max);
          const running: { client: string; end: () => void }[] = [];
          const waiting: { client: string; controller: AbortController }[] = [];
          const held = (client: string) => running.filter((one) => one.client === client).length;
          for (const { kind, client, pick } of steps) {
            const before = new Map(waiting.map((one) => [one.client, held(one.client)]));
            const ended =
              kind === 'end' ? running.splice(pick % (running.length || 1), 1)[0] : undefined;
            if (ended !== undefined && before.has(ended.client))
              before.set(ended.client, held(ended.client));
            let begun: string | undefined;
            if (kind === 'take') {
              const one = { client, controller: new AbortController() };
              waiting.push(one);
              turns.take('origin', client, one.controller.signal, share).then(
                (end) => {
                  waiting.splice(waiting.indexOf(one), 1);
                  running.push({ client, end });
                  begun = client;
                },
                () => waiting.splice(waiting.indexOf(one), 1),
              );
            } else if (kind === 'abort') {
              waiting[pick % (waiting.length || 1)]?.controller.abort(new Error('gone'));
            }
            ended?.end();
            await new Promise(setImmediate);
            expect(running.length).toBeLessThanOrEqual(max);
            for (const one of running) expect(held(one.client)).toBeLessThanOrEqual(share);
            const mayGo = waiting.filter((one) => held(one.client) < share);
            if (mayGo.length > 0) expect(running.length).toBe(max);
            if (ended !== undefined && begun !== undefined) {
              const open = [...before.values()].filter((count) => count < share);
              expect(before.get(begun)).toBe(Math.min(...open));
            }
          }
          for (const { controller } of [...waiting]) controller.abort(new Error('gone'));
          for (const { end } of [...running]) end();
          await new Promise(setImmediate);
          expect(turns.size).toBe(0);
        },
      ),
    );
  });
});
