import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { TAR_BLOCK_BYTES, type TarMember, tarHeader } from './tar-header.ts';
import { TarLayout } from './tar-layout.ts';

const file = (path: string, bytes: number, more: Partial<TarMember> = {}): TarMember => ({
  ...{ path, kind: 'file', bytes, mtimeMs: 1_700_000_000_999, executable: false, ...more },
});
const text = (header: Uint8Array) => Buffer.from(header).toString('latin1');

test('what fits into ustar has one block, whose fields are those of POSIX', () => {
  const header = tarHeader(file('a/b.txt', 1234));
  expect(header.length).toBe(TAR_BLOCK_BYTES);
  expect(text(header).replaceAll('\0', '|').replace(/\|+$/, '')).toBe(
    'a/b.txt'.padEnd(100, '|') +
      '0000644|0000000|0000000|00000002322|14524770400|010450| 0'.padEnd(157, '|') +
      'ustar|00'.padEnd(72, '|') +
      '0000000|0000000',
  );
  expect(text(tarHeader(file('run', 0, { executable: true }))).slice(100, 107)).toBe('0000755');
});

test.each([
  ['a long path', file('x'.repeat(101), 1), `111 path=${'x'.repeat(101)}\n`],
  ['a path beyond ASCII', file('ä', 1), '11 path=\xc3\xa4\n'],
  ['a size of 8 GiB', file('x', 2 ** 33), '19 size=8589934592\n'],
  ['a time before 1970', file('x', 1, { mtimeMs: -1500 }), '12 mtime=-2\n'],
])('%s is in a pax header', (_, member, record) => {
  const header = text(tarHeader(member));
  expect(header.length).toBe(3 * TAR_BLOCK_BYTES);
  expect(header[156]).toBe('x');
  expect(header.slice(TAR_BLOCK_BYTES, TAR_BLOCK_BYTES + record.length)).toBe(record);
  expect(header[TAR_BLOCK_BYTES + record.length]).toBe('\0');
  expect(header[2 * TAR_BLOCK_BYTES + 156]).toBe('0');
});

test('at each position begins what the runs before it have left', () => {
  const members = fc.array(
    fc.record({ name: fc.string({ minLength: 1, maxLength: 150 }), bytes: fc.nat(2000) }),
    { maxLength: 8 },
  );
  fc.assert(
    fc.property(members, fc.double({ min: 0, max: 1, noNaN: true }), (some, where) => {
      const layout = new TarLayout(some.map(({ name, bytes }) => file(name, bytes)));
      const sizes: number[] = [];
      for (let at = 0; at < layout.bytes; at += sizes.at(-1) as number) {
        const run = layout.runAt(at);
        const bytes = typeof run.bytes === 'number' ? run.bytes : run.bytes.length;
        expect(bytes).toBeGreaterThan(0);
        const inside = Math.min(bytes - 1, Math.floor(where * bytes));
        const part = layout.runAt(at + inside);
        const rest = typeof part.bytes === 'number' ? part.bytes : part.bytes.length;
        expect([part.kind, rest]).toEqual([run.kind, bytes - inside]);
        if (part.kind === 'content') expect(part.from).toBe(inside);
        sizes.push(bytes);
      }
      expect(sizes.reduce((sum, one) => sum + one, 0)).toBe(layout.bytes);
      expect(layout.bytes % TAR_BLOCK_BYTES).toBe(0);
    }),
  );
});
