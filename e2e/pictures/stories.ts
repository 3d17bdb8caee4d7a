/** Draws the pictures of the stories of depots: `node e2e/pictures/stories.ts [FOLDER]`. */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = process.argv[2] ?? fileURLToPath(new URL('../../edge/screenshots', import.meta.url));

/** A server in a picture. */
interface Box {
  readonly name: string;
  /** Its part of the file. */
  readonly has: string;
  readonly isDown?: boolean;
}

const [WIDTH, HEIGHT, GAP, TOP] = [104, 64, 16, 56];

/** Draws a row of servers below a line of text; those that are down are dashed. */
function row(caption: string, boxes: readonly Box[], top: number): string {
  const drawn = boxes.map(({ name, has, isDown = false }, i) => {
    const x = GAP + i * (WIDTH + GAP);
    const line = isDown ? 'stroke="#c22525" stroke-dasharray="5 4"' : 'stroke="#0b7285"';
    const middle = x + WIDTH / 2;
    return (
      `<rect x="${x}" y="${top + 24}" width="${WIDTH}" height="${HEIGHT}" rx="8" fill="#fff" stroke-width="2" ${line}/>` +
      `<text x="${middle}" y="${top + 50}" font-weight="600" text-anchor="middle">${name}</text>` +
      `<text x="${middle}" y="${top + 72}" text-anchor="middle" fill="#4b5966">${isDown ? 'gone' : has}</text>`
    );
  });
  return `<text x="${GAP}" y="${top + 12}">${caption}</text>${drawn.join('')}`;
}

/** Draws rows below each other. @returns the text of an SVG */
function picture(title: string, rows: readonly (readonly [string, readonly Box[]])[]): string {
  const most = Math.max(...rows.map(([, boxes]) => boxes.length));
  const width = GAP + most * (WIDTH + GAP);
  const step = HEIGHT + TOP;
  const height = GAP + rows.length * step;
  const drawn = rows.map(([caption, boxes], i) => row(caption, boxes, GAP + i * step));
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="system-ui, sans-serif" font-size="13" fill="#17212b"><title>${title}</title><rect width="100%" height="100%" fill="#f4f6f7"/>${drawn.join('')}</svg>\n`;
}

const copy = (name: string, isDown = false): Box => ({ name, has: 'r.iso', isDown });
await writeFile(
  join(folder, 'release.svg'),
  picture('Copies of a release', [
    ['upload URL --copies 3', [copy('example.org'), copy('a'), copy('b'), copy('c')]],
    [
      'Its server and a depot are gone',
      [copy('example.org', true), copy('a'), copy('b', true), copy('c')],
    ],
    ['augment --copies 3', [copy('a'), copy('c'), copy('d')]],
  ]),
);

const shards = ['bytes 1', 'bytes 2', 'bytes 3', 'bytes 4', 'parity 1', 'parity 2'];
const letters = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'] as const;
const shard = (at: number, index: number, isDown = false): Box => ({
  ...{ name: letters[at] ?? '', has: shards[index] ?? '', isDown },
});
await writeFile(
  join(folder, 'spread.svg'),
  picture('Shards of a file', [
    ['upload --stripe 4+2', shards.map((_, i) => shard(i, i))],
    [
      'Any two depots may fail: get solves their bytes',
      shards.map((_, i) => shard(i, i, i === 1 || i === 4)),
    ],
    [
      'augment: two other depots take the lost shards',
      [0, 2, 3, 5].map((i) => shard(i, i)).concat(shard(6, 1), shard(7, 4)),
    ],
  ]),
);
