import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { DownloadProgress } from '../../engine/download/download.ts';
import { displayWidth } from './display.ts';
import { blockStrip, plainLine } from './progress-line.ts';
import { terminalLine } from './terminal-line.ts';

const MiB = 2 ** 20;

/** A download whose first `storedBytes` are stored. */
function progress(part: Partial<DownloadProgress> = {}): DownloadProgress {
  const length = 'length' in part ? part.length : 100 * MiB;
  const storedBytes = part.storedBytes ?? 25 * MiB;
  return {
    state: 'running',
    receivedBytes: storedBytes,
    sources: [],
    digests: [],
    brought: () => [],
    length,
    storedBytes,
    bytesPerSecond: 2.5 * MiB,
    etaMs: 30_000,
    strip: (cells) =>
      Array.from({ length: cells }, (_, i) =>
        Math.min(1, Math.max(0, (storedBytes * cells) / (length ?? 1) - i)),
      ),
    ...part,
  };
}

describe('progress lines', () => {
  test('a terminal shows name, percentage, strip of the file, speed and time left', () => {
    expect(terminalLine('file.iso', progress(), 60)).toBe(
      `file.iso  25% ${'█'.repeat(6)}░${'·'.repeat(18)} 2.5 MiB/s 0:30 left`,
    );
  });

  test('the strip of the file has at most 60 cells', () => {
    const line = terminalLine('file.iso', progress(), 500);
    expect(line.match(/[·░▒▓█]/g)).toHaveLength(60);
  });

  test('a narrow terminal gets the text without the strip, cut to fit', () => {
    expect(terminalLine('file.iso', progress(), 44)).toBe('file.iso  25% 2.5 MiB/s 0:30 left');
    expect(terminalLine('file.iso', progress(), 10)).toBe('file.iso…');
    expect(terminalLine('file.iso', progress(), 0)).toBe('');
  });

  test('a long name keeps its beginning and its end', () => {
    const name = 'a-very-long-name-of-a-distribution-amd64.iso';
    expect(terminalLine(name, progress(), 100)).toMatch(/^a-very-long-nam…on-amd64\.iso {2}25% /);
    const just = 'x'.repeat(28);
    expect(terminalLine(just, progress(), 100).startsWith(`${just}  25%`)).toBe(true);
  });

  test('wide characters take two columns each', () => {
    const line = terminalLine('文件文件.iso', progress(), 60);
    expect(displayWidth(line)).toBe(59);
  });

  test.each([
    [0, '0%'],
    [MiB - 1, '0%'],
    [MiB, '1%'],
    [100 * MiB - 1, '99%'],
    [100 * MiB, '100%'],
  ])('of 100 MiB, %d bytes are %s', (storedBytes, share) => {
    expect(terminalLine('f', progress({ storedBytes }), 100)).toContain(` ${share} `);
    expect(plainLine('f', progress({ storedBytes }))).toContain(`(${share})`);
  });

  test('an empty file is complete', () => {
    expect(plainLine('f', progress({ length: 0, storedBytes: 0 }))).toContain('0 B of 0 B (100%)');
  });

  test('without a length there is no percentage, no strip and no time left', () => {
    const unknown = progress({ length: undefined, etaMs: undefined });
    expect(terminalLine('f', unknown, 100)).toBe('f 25 MiB  2.5 MiB/s');
    expect(plainLine('f', unknown)).toBe('f: 25 MiB, 2.5 MiB/s');
  });

  test('a log gets everything as text', () => {
    expect(plainLine('file.iso', progress())).toBe(
      'file.iso: 25 MiB of 100 MiB (25%), 2.5 MiB/s, 0:30 left',
    );
  });

  test('a cell of the strip is fuller the more of its part is stored', () => {
    expect(blockStrip([0, 0.001, 0.33, 0.34, 0.66, 0.67, 0.999, 1])).toBe('·░░▒▒▓▓█');
    expect(blockStrip([-1, 2])).toBe('·█');
    expect(blockStrip([])).toBe('');
  });

  test('the line always fits the terminal', () => {
    const figures = fc.record({
      storedBytes: fc.nat(100 * MiB),
      bytesPerSecond: fc.nat(2 ** 31),
      etaMs: fc.option(fc.nat(), { nil: undefined }),
      length: fc.option(fc.constant(100 * MiB), { nil: undefined }),
    });
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), figures, fc.nat(200), (name, part, columns) => {
        const line = terminalLine(name, progress(part), columns);
        expect(displayWidth(line)).toBeLessThanOrEqual(Math.max(0, columns - 1));
      }),
    );
  });
});
