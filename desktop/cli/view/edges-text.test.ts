import { expect, test } from '@jest/globals';
import type { EdgeRow } from '../../engine/edges/edge-table.ts';
import { edgeTable } from './edges-text.ts';

const SILENT = { rttMs: undefined, load: undefined, room: undefined, state: 'silent' } as const;
const EDGES: readonly EdgeRow[] = [
  { name: 'a', url: 'https://a.example', rttMs: 3.14, load: 0, room: 0.934, state: 'ready' },
  { name: 'b', url: 'https://b.example', rttMs: 81.6, load: 12, room: 0, state: 'unhealthy' },
  { name: 'c\u001b[2J', url: 'https://c.example', ...SILENT },
];

test('each edge has its line, without what is not known, and without codes for the terminal', () => {
  expect(edgeTable(EDGES, 200)).toEqual([
    'EDGE               NAME   ROUND TRIP  LOAD  ROOM  STATE',
    'https://a.example  a          3.1 ms     0   93%  ready',
    'https://b.example  b           82 ms    12    0%  gets no clients',
    'https://c.example  c\ufffd[2J                          no answer',
  ]);
});

test('a narrow terminal gets the columns that matter most', () => {
  const lines = edgeTable(EDGES, 60);
  expect(lines.every((line) => line.length < 60)).toBe(true);
  expect(lines[0]).toContain('ROUND TRIP');
});
