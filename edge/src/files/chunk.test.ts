import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { Chunk, sha256 } from './chunk.ts';
import { ChunkMemory } from './chunk-memory.ts';
import type { FileVersion } from './file-version.ts';

const VERSION: FileVersion = {
  url: 'https://example.com/f',
  scope: 'public',
  length: 64,
  validators: { etag: '"a"' },
  tag: 'e.a',
  fields: {},
};

/** A chunk of 16 bytes in memory that is overwritten when it is given back. */
function make(text = '0123456789abcdef', digest?: Buffer) {
  const memory = new ChunkMemory({ slotBytes: 16, keepBytes: 64, poison: true });
  const buffer = memory.allocate(16);
  buffer.data.write(text);
  const chunk = new Chunk('key', buffer, VERSION, digest);
  return { chunk, memory, memoryItself: buffer.data };
}
const expected = createHash('sha256').update('0123456789abcdef').digest('hex');

describe('Chunk', () => {
  test('keeps its bytes as long as it has users', () => {
    const { chunk, memory } = make();
    expect(chunk.retain()).toBe(chunk);
    chunk.release();
    expect(chunk.data.toString()).toBe('0123456789abcdef');
    chunk.release();
    expect(memory.figures.usedBytes).toBe(0);
  });

  test('moves to kept memory only while it has a single user', () => {
    const memory = new ChunkMemory({ slotBytes: 16, keepBytes: 16, poison: true });
    const first = memory.allocate(16);
    const extra = memory.allocate(16);
    extra.data.write('0123456789abcdef');
    const chunk = new Chunk('key', extra, VERSION).retain();
    first.release();
    expect(chunk.move()).toBe(false);
    chunk.release();
    expect(chunk.move()).toBe(true);
    expect(chunk.data).toBe(first.data);
    expect(chunk.data.toString()).toBe('0123456789abcdef');
    expect(chunk.move()).toBe(false);
    chunk.release();
    expect(memory.lentBytes).toBe(0);
  });

  test('shows no bytes of its memory after the last user has left', () => {
    const { chunk, memoryItself } = make();
    chunk.release();
    expect(chunk.data).toHaveLength(0);
    expect(memoryItself.every((byte) => byte === 0xdb)).toBe(true);
  });

  test('cannot be released more often than it is used', () => {
    const { chunk, memory } = make();
    chunk.retain();
    chunk.release();
    chunk.release();
    expect(() => chunk.release()).toThrow(expect.objectContaining({ code: 'internal' }));
    expect(memory.figures.usedBytes).toBe(0);
  });

  test('cannot be used again after its end', () => {
    const { chunk } = make();
    chunk.release();
    expect(() => chunk.retain()).toThrow(expect.objectContaining({ code: 'internal' }));
  });

  test('has the SHA-256 of its bytes, computed once', async () => {
    const { chunk } = make();
    const first = chunk.digest();
    expect(chunk.digest()).toBe(first);
    expect((await first).toString('hex')).toBe(expected);
    chunk.release();
  });

  test('keeps its bytes until its digest is computed', async () => {
    const { chunk, memory } = make();
    const digest = chunk.digest();
    chunk.release();
    expect(memory.figures.usedBytes).toBe(16);
    expect((await digest).toString('hex')).toBe(expected);
    await new Promise((resolve) => setImmediate(resolve));
    expect(memory.figures.usedBytes).toBe(0);
    // A digest that was computed stays known.
    expect((await chunk.digest()).toString('hex')).toBe(expected);
  });

  test('takes a digest that is known already', async () => {
    const { chunk, memory } = make('0123456789abcdef', Buffer.from('known'));
    expect((await chunk.digest()).toString()).toBe('known');
    chunk.release();
    expect(memory.figures.usedBytes).toBe(0);
  });

  test('the SHA-256 of no bytes is the published one', async () => {
    expect((await sha256(Buffer.alloc(0))).toString('hex')).toBe(
      'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    );
  });
});
