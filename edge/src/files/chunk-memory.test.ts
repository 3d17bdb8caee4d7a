import { describe, expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import { allocateFor, ChunkMemory } from './chunk-memory.ts';

const SLOT = 1024;
const MiB = 1024 * 1024;
const memory = (slots: number, poison = false) =>
  new ChunkMemory({ slotBytes: SLOT, keepBytes: slots * SLOT, poison });

describe('ChunkMemory', () => {
  test('lends exactly as many bytes as requested', () => {
    const lender = memory(4);
    for (const bytes of [SLOT, 1, SLOT - 1, SLOT + 1, 0]) {
      expect(lender.allocate(bytes).data).toHaveLength(bytes);
    }
  });

  test('takes memory from the system when it is first needed, and keeps it', () => {
    const lender = memory(4);
    expect(lender.figures).toEqual({ slabBytes: 0, usedBytes: 0 });
    const buffer = lender.allocate(SLOT);
    expect(lender.figures).toEqual({ slabBytes: 4 * SLOT, usedBytes: SLOT });
    buffer.release();
    expect(lender.figures).toEqual({ slabBytes: 4 * SLOT, usedBytes: 0 });
  });

  test('lends the memory that came back last', () => {
    const lender = memory(4);
    const [a, b] = [lender.allocate(SLOT), lender.allocate(SLOT)];
    a.release();
    b.release();
    expect(lender.allocate(SLOT).data).toBe(b.data);
    expect(lender.allocate(SLOT).data).toBe(a.data);
  });

  test('grows when its slabs are full, and returns slabs that it no longer needs', () => {
    const lender = new ChunkMemory({ slotBytes: MiB, keepBytes: 2 * MiB });
    const buffers = Array.from({ length: 40 }, () => lender.allocate(MiB));
    expect(new Set(buffers.map(({ data }) => data)).size).toBe(40);
    expect(lender.figures).toEqual({ slabBytes: 66 * MiB, usedBytes: 40 * MiB });
    for (const buffer of buffers) buffer.release();
    expect(lender.figures).toEqual({ slabBytes: 2 * MiB, usedBytes: 0 });
  });

  test('does not return a slab that the next loan would need again', () => {
    const lender = new ChunkMemory({ slotBytes: MiB, keepBytes: MiB });
    lender.allocate(MiB);
    for (let i = 0; i < 3; i++) {
      lender.allocate(MiB).release();
      expect(lender.figures).toEqual({ slabBytes: 33 * MiB, usedBytes: MiB });
    }
  });

  test('memory of other sizes counts as lent until it is given back', () => {
    const lender = memory(4);
    const [slot, tail] = [lender.allocate(SLOT), lender.allocate(SLOT - 1)];
    expect(lender.lentBytes).toBe(2 * SLOT - 1);
    tail.release();
    expect(() => tail.release()).toThrow('twice');
    slot.release();
    expect([lender.lentBytes, lender.idleBytes]).toEqual([0, SLOT]);
  });

  test('refuses to lend more than it may', () => {
    let left = SLOT;
    const lender = new ChunkMemory({
      slotBytes: SLOT,
      keepBytes: 4 * SLOT,
      mayLend: (bytes) => bytes <= left,
    });
    lender.allocate(SLOT);
    left = 0;
    expect(() => lender.allocate(1)).toThrow(expect.objectContaining({ code: 'out-of-memory' }));
    expect(lender.lentBytes).toBe(SLOT);
  });

  test('an answer without memory for its body is discarded, which frees its connection', () => {
    const discard = jest.fn();
    const lender = new ChunkMemory({ slotBytes: SLOT, keepBytes: SLOT, mayLend: () => false });
    expect(() => allocateFor({ discard }, lender, SLOT)).toThrow(
      expect.objectContaining({ code: 'out-of-memory' }),
    );
    expect(discard).toHaveBeenCalledTimes(1);
    const generous = new ChunkMemory({ slotBytes: SLOT, keepBytes: SLOT });
    expect(allocateFor({ discard }, generous, SLOT).data).toHaveLength(SLOT);
    expect(discard).toHaveBeenCalledTimes(1);
  });

  test('lends idle memory of any slab without asking', () => {
    let asked = 0;
    let may = true;
    const lender = new ChunkMemory({
      slotBytes: MiB,
      keepBytes: 2 * MiB,
      mayLend: () => {
        asked++;
        return may;
      },
    });
    const first = lender.allocate(MiB);
    first.release();
    expect(lender.allocate(MiB).data).toBe(first.data);
    expect(asked).toBe(1);
    // The second slot was never used: it would take memory from the system.
    may = false;
    expect(() => lender.allocate(MiB)).toThrow(expect.objectContaining({ code: 'out-of-memory' }));
    may = true;
    const kept = lender.allocate(MiB);
    const extra = lender.allocate(MiB);
    const last = lender.allocate(MiB);
    extra.release();
    may = false;
    expect(lender.allocate(MiB).data).toBe(extra.data);
    expect([kept.data, last.data]).not.toContain(extra.data);
    expect(asked).toBe(5);
    // The last chunk of a file is smaller: it gets an idle slot if there is nothing else.
    kept.release();
    const small = lender.allocate(MiB / 2);
    expect([small.data.length, small.data.buffer]).toEqual([MiB / 2, kept.data.buffer]);
    expect([lender.lentBytes, lender.idleBytes]).toEqual([3.5 * MiB, MiB / 2]);
    small.release();
    expect(lender.allocate(MiB).data).toBe(kept.data);
  });

  test('a chunk that a burst left in an extra slab moves to a kept one, and the slab is returned', () => {
    const lender = new ChunkMemory({ slotBytes: MiB, keepBytes: MiB, poison: true });
    const kept = lender.allocate(MiB);
    const extra = lender.allocate(MiB);
    expect([lender.isScattered, extra.better?.()]).toEqual([false, undefined]);
    kept.release();
    expect([lender.isScattered, kept.better]).toEqual([true, undefined]);
    const better = extra.better?.();
    expect(better?.data).toBe(kept.data);
    extra.release();
    expect(lender.lentBytes).toBe(MiB);
  });

  test('memory that is given back twice is not lent twice', () => {
    const lender = memory(2);
    const buffer = lender.allocate(SLOT);
    buffer.release();
    expect(() => buffer.release()).toThrow('twice');
    const next = lender.allocate(SLOT);
    expect(() => buffer.release()).toThrow('twice');
    expect(lender.allocate(SLOT).data).not.toBe(next.data);
    expect(lender.figures.usedBytes).toBe(2 * SLOT);
  });

  test('memory that is given back is overwritten on request', () => {
    const buffer = memory(1, true).allocate(SLOT);
    buffer.data.fill('x');
    buffer.release();
    expect(buffer.data.every((byte) => byte === 0xdb)).toBe(true);
    const kept = memory(1).allocate(SLOT);
    kept.data.fill('x');
    kept.release();
    expect(kept.data.toString()).toBe('x'.repeat(SLOT));
  });

  test('no two loans ever share a byte', () => {
    const steps = fc.array(fc.tuple(fc.boolean(), fc.nat(), fc.constantFrom(SLOT, 10)), {
      maxLength: 60,
    });
    fc.assert(
      fc.property(fc.nat(8), steps, (slots, turns) => {
        const lender = memory(slots, true);
        const loans: { data: Buffer; release(): void; mark: number }[] = [];
        turns.forEach(([take, which, bytes], i) => {
          if (take || loans.length === 0) {
            const loan = { ...lender.allocate(bytes), mark: i };
            loan.data.fill(loan.mark);
            loans.push(loan);
          } else {
            loans.splice(which % loans.length, 1)[0]?.release();
          }
          for (const { data, mark } of loans) {
            expect(data.equals(Buffer.alloc(data.length, mark))).toBe(true);
          }
          const used = loans.filter(({ data }) => data.length === SLOT).length;
          expect(lender.figures.usedBytes).toBe(used * SLOT);
        });
      }),
    );
  });
});
