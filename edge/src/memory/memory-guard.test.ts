import { describe, expect, test } from '@jest/globals';
import { silentLog } from '@millrace/shared/base/log';
import { MemoryAccount } from '@millrace/shared/cdn/admission/memory-account';
import { MemoryGuard } from './memory-guard.ts';

const MiB = 1024 * 1024;

function setUp() {
  const account = new MemoryAccount(1024 * MiB);
  const state = { now: 0, charged: 0, resident: 0, heap: 10 * MiB, readers: 1000 };
  account.share('transfers', () => state.charged);
  const did: string[] = [];
  let collected = () => {};
  const guard = new MemoryGuard({
    account,
    witness: () => ({
      residentBytes: state.resident,
      heapBytes: state.heap,
      heapLimitBytes: 4096 * MiB,
    }),
    observeReaders: () => did.push('observe'),
    forgetReaders: () => did.push('forget'),
    endTransfers(bytes) {
      did.push(`reset ${bytes / MiB}`);
      return state.readers;
    },
    closeIdle: () => did.push('close idle'),
    trim() {},
    collectGarbage: () =>
      new Promise((resolve) => {
        did.push('collect');
        collected = resolve;
      }),
    boundGarbage() {},
    log: silentLog,
    now: () => state.now,
  });
  const look = (ms = 250) => {
    state.now += ms;
    did.length = 0;
    guard.look();
    return [...did];
  };
  const endCollection = async () => {
    collected();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { account, state, look, endCollection };
}

describe('MemoryGuard', () => {
  test('does nothing while the account is less than half full', () => {
    const { look, state } = setUp();
    state.charged = 440 * MiB;
    state.resident = 440 * MiB;
    expect(look()).toEqual(['forget']);
  });

  test('measures readers once a second from half of the stop on, and resets none below it', () => {
    const { look, state } = setUp();
    state.charged = 800 * MiB;
    expect([look(), look(), look(), look(), look()]).toEqual([
      ['observe'],
      [],
      [],
      [],
      ['observe'],
    ]);
  });

  test('above the stop it resets the slowest at each look, until the account is below', () => {
    const { look, state } = setUp();
    state.charged = 900 * MiB;
    expect(look()).toEqual(['observe', 'close idle', 'reset 4']);
    state.charged = 897 * MiB;
    expect(look()).toEqual(['close idle', 'reset 1']);
    state.charged = 896 * MiB;
    expect(look()).toEqual([]);
  });

  test('collects garbage before it resets readers for memory that only the system sees', async () => {
    const { look, state, endCollection } = setUp();
    state.resident = 1000 * MiB;
    expect(look()).toEqual(['observe', 'close idle', 'collect']);
    expect(look()).toEqual([]);
    await endCollection();
    // The system may need a moment to have the memory back.
    expect(look()).toEqual([]);
    expect(look(1000)).toEqual(['observe', 'close idle', 'reset 104']);
    // Transfers that were reset are garbage now: collecting comes first once more.
    expect(look(1000)).toEqual(['observe', 'close idle', 'collect']);
  });

  test('resets no reader for garbage that a collection frees', async () => {
    const { look, state, endCollection } = setUp();
    state.resident = 1000 * MiB;
    expect(look()).toContain('collect');
    state.resident = 300 * MiB;
    await endCollection();
    expect(look(1000)).toEqual(['forget']);
  });

  test('collects again if no reader is left to reset: those that ended leave garbage', async () => {
    const { look, state, endCollection } = setUp();
    state.resident = 1000 * MiB;
    look();
    await endCollection();
    state.readers = 0;
    expect(look(1000)).toEqual(['observe', 'close idle', 'reset 104']);
    expect(look(8000)).toEqual(['observe', 'close idle', 'reset 104']);
    expect(look(1000)).toEqual(['observe', 'close idle', 'reset 104', 'collect']);
    state.resident = 300 * MiB;
    await endCollection();
    expect(look(1000)).toEqual(['forget']);
  });

  test('a heap close to its limit counts, whatever its size', async () => {
    const { look, state } = setUp();
    state.heap = 4000 * MiB;
    expect(look()).toEqual(['observe', 'close idle', 'collect']);
  });
});
