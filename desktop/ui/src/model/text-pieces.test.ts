import { describe, expect, test } from '@jest/globals';
import { batches, MAX_TEXT_CHARS, textPieces } from './text-pieces.ts';

const linksIn = (text: string) => text.match(/https?:\/\/\S+/g) ?? [];

describe('a long text', () => {
  test('is cut between links, and no character is lost', () => {
    const text = Array.from({ length: 5000 }, (_, i) => `https://a.example/file-${i}.bin`).join(
      '\n',
    );
    const pieces = [...textPieces(text)];
    expect(pieces.join('')).toBe(text);
    expect(pieces.length).toBeGreaterThan(5);
    for (const piece of pieces) expect(linksIn(piece).length).toBeLessThanOrEqual(900);
    expect(pieces.flatMap(linksIn)).toEqual(linksIn(text));
  });

  test('without links is cut by its length', () => {
    const text = 'word '.repeat(200_000);
    const pieces = [...textPieces(text)];
    expect(pieces.join('')).toBe(text);
    for (const piece of pieces) expect(piece.length).toBeLessThanOrEqual(250_010);
  });

  test('is read up to a fixed number of characters', () => {
    const text = 'x '.repeat(MAX_TEXT_CHARS);
    expect([...textPieces(text)].join('')).toHaveLength(MAX_TEXT_CHARS);
    expect([...textPieces('')]).toEqual([]);
  });

  test('a list comes in batches, in order', () => {
    expect([...batches([1, 2, 3, 4, 5], 2)]).toEqual([[1, 2], [3, 4], [5]]);
  });
});
