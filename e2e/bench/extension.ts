/**
 * The engine in the extension against the browser's own download, from the same origin into the
 * same folder, in turns: time until the whole file is there under its name, and processor time of
 * all the browser's processes.
 */

import { existsSync, rmSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import type { BarChart } from '../charts/chart.ts';
import { ranged, type Spread, spread } from '../charts/spread.ts';
import { buildEngineExtension, Taker } from '../fixtures/pages/engine-extension.ts';
import { ExtensionBrowser } from '../fixtures/pages/extension.ts';
import { until } from '../fixtures/until.ts';
import type { Stage } from './measuring/stage.ts';
import type { Result } from './measuring/table.ts';

const ROUNDS = 3;

interface Figures {
  readonly megabytesPerSecond: number;
  readonly cpuPerGb: number;
}

export async function extension(stage: Stage): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-bench-'));
  const browser = await ExtensionBrowser.start({ extension: await buildEngineExtension(folder) });
  const engine: Figures[] = [];
  const own: Figures[] = [];
  try {
    for (let round = 0; round <= ROUNDS; round++) {
      engine.push(await measured(stage, browser, withEngine));
      own.push(await measured(stage, browser, withBrowser));
    }
  } finally {
    await browser.stop();
    await rm(folder, { recursive: true, force: true });
  }
  // The first round only warms up.
  const rows: Measured[] = [
    { name: 'engine in the extension, saving included', rounds: engine.slice(1) },
    { name: "Chromium's own download", rounds: own.slice(1) },
  ];
  return {
    text: ['| | MB/s | CPU-s/GB |', '|---|---|---|', ...rows.map(row)].join('\n'),
    rows,
    charts: [chart(rows, 'megabytesPerSecond'), chart(rows, 'cpuPerGb')],
  };
}

interface Measured {
  readonly name: string;
  readonly rounds: readonly Figures[];
}

const spreadOf = ({ rounds }: Measured, figure: keyof Figures): Spread =>
  spread(rounds.map((round) => round[figure]));

function chart(rows: readonly Measured[], figure: keyof Figures): BarChart {
  const isSpeed = figure === 'megabytesPerSecond';
  return {
    title: 'A download by the extension and by the browser itself',
    unit: isSpeed ? 'MB/s' : "CPU-s/GB, all of the browser's processes",
    better: isSpeed ? 'more' : 'less',
    range: `least and most of ${ROUNDS} rounds`,
    series: rows.map(({ name }) => name),
    groups: [{ name: 'one file', bars: rows.map((one) => spreadOf(one, figure)) }],
  };
}

type Download = (browser: ExtensionBrowser, url: string, bytes: number) => Promise<void>;

async function withEngine(browser: ExtensionBrowser, url: string, bytes: number): Promise<void> {
  const { headers } = await fetch(url, { method: 'HEAD' });
  const offer = { url, finalUrl: url, fileName: 'measured.bin', length: bytes, headers: {} };
  const etag = headers.get('etag') as string;
  const handOff = crypto.randomUUID();
  await new Taker(browser).take({ ...offer, handOff, etag, edges: [] });
}

async function withBrowser(browser: ExtensionBrowser, url: string): Promise<void> {
  await browser.asExtension(
    `chrome.downloads.download({ url: ${JSON.stringify(url)}, filename: 'measured.bin' })`,
  );
}

async function measured(
  { origin, filePath, fileBytes }: Stage,
  browser: ExtensionBrowser,
  download: Download,
): Promise<Figures> {
  const path = join(browser.downloads, 'measured.bin');
  const cpuBefore = await cpuSeconds(browser);
  const startedAt = performance.now();
  await download(browser, `${origin.url}${filePath}`, fileBytes);
  await until(() => existsSync(path) && statSync(path).size === fileBytes);
  const ms = performance.now() - startedAt;
  const cpu = (await cpuSeconds(browser)) - cpuBefore;
  rmSync(path);
  return { megabytesPerSecond: fileBytes / 1000 / ms, cpuPerGb: (cpu * 1e9) / fileBytes };
}

/** Processor time of the browser's current processes; processes of closed pages do not count. */
async function cpuSeconds({ context }: ExtensionBrowser): Promise<number> {
  const session = await (context.browser() as Browser).newBrowserCDPSession();
  const { processInfo } = await session.send('SystemInfo.getProcessInfo');
  await session.detach();
  return processInfo.reduce((sum, { cpuTime }) => sum + cpuTime, 0);
}

/** Writes the medians, with their ranges, as a row. */
function row(one: Measured): string {
  const [speed, cpu] = [spreadOf(one, 'megabytesPerSecond'), spreadOf(one, 'cpuPerGb')];
  return `| ${one.name} | ${ranged(speed, 0)} | ${ranged(cpu, 2)} |`;
}
