import { describe, expect, test } from '@jest/globals';
import { SingleFlight } from './single-flight.ts';

const forEver = new AbortController().signal;

/** Work that ends when the test says so. */
function controlled() {
  const runs: {
    signal: AbortSignal;
    resolve: (value: string) => void;
    reject: (error: Error) => void;
  }[] = [];
  const work = (signal: AbortSignal) =>
    new Promise<string>((resolve, reject) => {
      runs.push({ signal, resolve, reject });
    });
  const run = (index: number) => {
    const found = runs[index];
    if (found === undefined) throw new Error(`run ${index} has not begun`);
    return found;
  };
  return { work, runs, run };
}

/** Lets all pending callbacks run. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('SingleFlight', () => {
  test('callers of one key share one run and its result', async () => {
    const flights = new SingleFlight<string, string>();
    const { work, runs, run } = controlled();
    const a = flights.run('k', forEver, work);
    const b = flights.run('k', forEver, work);
    expect([a.joined, b.joined]).toEqual([false, true]);
    expect(flights.has('k')).toBe(true);
    await settle();
    expect(runs).toHaveLength(1);
    run(0).resolve('value');
    expect(await Promise.all([a.result, b.result])).toEqual(['value', 'value']);
    expect(flights.has('k')).toBe(false);
    expect(flights.size).toBe(0);
  });

  test('keys do not disturb each other', async () => {
    const flights = new SingleFlight<string, string>();
    const { work, runs, run } = controlled();
    const a = flights.run('a', forEver, work);
    const b = flights.run('b', forEver, work);
    await settle();
    expect(runs).toHaveLength(2);
    expect(flights.size).toBe(2);
    run(1).reject(new Error('b failed'));
    await expect(b.result).rejects.toThrow('b failed');
    run(0).resolve('a is fine');
    expect(await a.result).toBe('a is fine');
  });

  test('all callers get the failure, and the next one a run of its own', async () => {
    const flights = new SingleFlight<string, string>();
    const { work, run } = controlled();
    const a = flights.run('k', forEver, work);
    const b = flights.run('k', forEver, work);
    await settle();
    const error = new Error('broken');
    run(0).reject(error);
    await expect(a.result).rejects.toBe(error);
    await expect(b.result).rejects.toBe(error);
    const c = flights.run('k', forEver, work);
    expect(c.joined).toBe(false);
    await settle();
    run(1).resolve('mended');
    expect(await c.result).toBe('mended');
  });

  test('work that throws at once is a failure like any other', async () => {
    const flights = new SingleFlight<string, string>();
    const { result } = flights.run('k', forEver, () => {
      throw new Error('at once');
    });
    await expect(result).rejects.toThrow('at once');
    expect(flights.has('k')).toBe(false);
  });

  test('the first caller leaving does not fail the others', async () => {
    const flights = new SingleFlight<string, string>();
    const { work, run } = controlled();
    const leaving = new AbortController();
    const first = flights.run('k', leaving.signal, work);
    const second = flights.run('k', forEver, work);
    await settle();
    leaving.abort(new Error('gone'));
    await expect(first.result).rejects.toThrow('gone');
    expect(run(0).signal.aborted).toBe(false);
    expect(flights.has('k')).toBe(true);
    run(0).resolve('value');
    expect(await second.result).toBe('value');
  });

  test('the last caller leaving cancels the work with its reason', async () => {
    const flights = new SingleFlight<string, string>();
    const { work, run } = controlled();
    const leaving = [new AbortController(), new AbortController()] as const;
    const results = leaving.map((c) => flights.run('k', c.signal, work).result);
    await settle();
    leaving[1].abort(new Error('second gone'));
    await expect(results[1]).rejects.toThrow('second gone');
    expect(run(0).signal.aborted).toBe(false);
    const last = new Error('first gone');
    leaving[0].abort(last);
    await expect(results[0]).rejects.toBe(last);
    expect(run(0).signal.reason).toBe(last);
    expect(flights.size).toBe(0);
  });

  test('a caller that comes after all others have left starts a new run', async () => {
    const flights = new SingleFlight<string, string>();
    const { work, runs, run } = controlled();
    const leaving = new AbortController();
    const first = flights.run('k', leaving.signal, work);
    await settle();
    leaving.abort(new Error('gone'));
    await expect(first.result).rejects.toThrow('gone');
    const second = flights.run('k', forEver, work);
    expect(second.joined).toBe(false);
    await settle();
    expect(runs).toHaveLength(2);
    // The cancelled run ends late, which concerns no caller any more.
    run(0).reject(new Error('cancelled'));
    await settle();
    expect(flights.has('k')).toBe(true);
    expect(flights.run('k', forEver, work).joined).toBe(true);
    run(1).resolve('fresh');
    expect(await second.result).toBe('fresh');
  });

  test('a caller that has left already gets its reason and leaves no run behind', async () => {
    const flights = new SingleFlight<string, string>();
    const { work, runs } = controlled();
    const reason = new Error('before it began');
    const { result } = flights.run('k', AbortSignal.abort(reason), work);
    await expect(result).rejects.toBe(reason);
    expect(flights.has('k')).toBe(false);
    for (const { signal } of runs) expect(signal.aborted).toBe(true);
  });

  test('a caller that has left already does not disturb a run under way', async () => {
    const flights = new SingleFlight<string, string>();
    const { work, run } = controlled();
    const first = flights.run('k', forEver, work);
    const reason = new Error('too late');
    const second = flights.run('k', AbortSignal.abort(reason), work);
    await expect(second.result).rejects.toBe(reason);
    expect(run(0).signal.aborted).toBe(false);
    run(0).resolve('value');
    expect(await first.result).toBe('value');
  });

  test('leaving after the end changes nothing', async () => {
    const flights = new SingleFlight<string, string>();
    const { work, run } = controlled();
    const leaving = new AbortController();
    const { result } = flights.run('k', leaving.signal, work);
    await settle();
    run(0).resolve('value');
    expect(await result).toBe('value');
    leaving.abort(new Error('gone'));
    await settle();
    expect(run(0).signal.aborted).toBe(false);
    expect(await result).toBe('value');
  });
});
