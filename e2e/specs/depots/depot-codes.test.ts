/** Files in coded shards: striped uploads, and downloads although depots are dead. */

import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { seededRandom } from '../../../shared/src/base/clock.ts';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { CliProcess, type EdgeProcess, runCli } from '../../fixtures/programs/processes.ts';
import { DepotStage } from '../../fixtures/stages/depot-stage.ts';
import { until } from '../../fixtures/until.ts';

const seed = Number(process.env.MILLRACE_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
process.stderr.write(`code tests: MILLRACE_TEST_SEED=${seed}\n`);
const random = seededRandom(seed);

const MIB = 1024 * 1024;
const BYTES = 10 * MIB + 12_345;

const stage = await DepotStage.set();
const content = contentOf('in coded shards', BYTES);
const file = join(stage.folder, 'set.bin');
await writeFile(file, content);
const edges = await Promise.all(
  ['a', 'b', 'c', 'd', 'e', 'f'].map((name) =>
    stage.start('--depot-dir', join(stage.folder, name)),
  ),
);
const env = { MILLRACE_STATE: join(stage.folder, 'state') };
const exnode = join(stage.folder, 'set.exnode');

// biome-ignore lint/suspicious/noExplicitAny: a document of the command line
type Document = any;

const uploading = (to: readonly EdgeProcess[], ...options: string[]) => [
  ...['upload', file, ...to.flatMap(({ url }) => ['--edge', url])],
  ...['--token-file', stage.tokenFile, '--json', ...options],
];
const eventsOf = (text: string): Document[] =>
  text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .flatMap((line) => (line === '' ? [] : JSON.parse(line)));

test('a striped file has a shard at each depot, and the command needs as many', async () => {
  const few = await runCli(uploading(edges.slice(1), '--stripe', '4+2'), env);
  expect([few.code, few.stderr]).toEqual([2, expect.stringContaining('4+2 takes 6 depots')]);
  const { code, stdout } = await runCli(uploading(edges, '--stripe', '4+2', '-o', exnode), env);
  const done = eventsOf(stdout).at(-1);
  expect([code, done]).toMatchObject([0, { event: 'done', bytes: BYTES, sha256: sha256(content) }]);
  expect((await stat(exnode)).mode & 0o777).toBe(0o600);
  expect(await readdir(join(env.MILLRACE_STATE, 'uploads'))).toEqual([]);
});
