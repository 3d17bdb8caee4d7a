/**
 * `npm run bench -- coding`: bytes of data that one processor codes per second, 4 shards of data and 2 of
 * parity, by vector instructions and by tables, and solves again when two shards of data are lost. By processor time,
 * so that other work on the machine counts little.
 */

import { randomFillSync } from 'node:crypto';
import { simdKernel } from '../../../shared/node/code/gf-kernel.ts';
import { type Kernel, TABLE_KERNEL } from '../../../shared/src/code/kernel.ts';
import { ReedSolomon, type Shard } from '../../../shared/src/code/reed-solomon.ts';

const [DATA, PARITY] = [4, 2];
const SHARD_BYTES = 1024 * 1024;
const RUNS = 5;
/** Processor time of one run, ms. */
const RUN_MS = 500;

/** Measures both kernels. @returns the exit status: 1 if solved bytes are wrong */
export async function coding(): Promise<number> {
  const kernels: [string, Kernel | undefined][] = [
    ['vector instructions of WebAssembly', simdKernel()],
    ['tables, in any runtime', TABLE_KERNEL],
  ];
  const rows: string[] = [];
  for (const [name, kernel] of kernels) {
    if (kernel === undefined) {
      rows.push(`| ${name} | not on this processor | |`);
      continue;
    }
    const code = new ReedSolomon(DATA, PARITY, kernel);
    const shards = Array.from({ length: DATA + PARITY }, () => new Uint8Array(SHARD_BYTES));
    const [data, parity] = [shards.slice(0, DATA), shards.slice(DATA)];
    for (const shard of data) randomFillSync(shard);
    const encoded = rates(() => code.encode(data, parity));
    const known = shards.map((bytes, index): Shard => ({ index, bytes })).slice(PARITY);
    const wanted = Array.from(
      { length: PARITY },
      (_, index): Shard => ({
        index,
        bytes: new Uint8Array(SHARD_BYTES),
      }),
    );
    const solved = rates(() => code.solve(known, wanted));
    if (
      wanted.some(({ index, bytes }) => Buffer.compare(bytes, shards[index] as Uint8Array) !== 0)
    ) {
      process.stderr.write(`${name}: solved bytes are wrong\n`);
      return 1;
    }
    rows.push(`| ${name} | ${encoded} | ${solved} |`);
  }
  const head = [
    `| ${DATA}+${PARITY}, GB of data per second of one processor | coding | solving two |`,
    '|---|---|---|',
  ];
  process.stdout.write([...head, ...rows, ''].join('\n'));
  return 0;
}

/** Repeats work on all data. @returns the median of its rates, GB/s of data, with the range */
function rates(work: () => void): string {
  work();
  const all = Array.from({ length: RUNS }, () => {
    const begun = process.cpuUsage();
    let [times, ms] = [0, 0];
    while (ms < RUN_MS) {
      work();
      times++;
      const { user, system } = process.cpuUsage(begun);
      ms = (user + system) / 1000;
    }
    return (times * DATA * SHARD_BYTES) / 1e6 / ms;
  }).sort((a, b) => a - b);
  const [least, middle, most] = [all[0], all[RUNS >> 1], all.at(-1)].map((rate) =>
    rate?.toFixed(2),
  );
  return `${middle} (${least} to ${most})`;
}
