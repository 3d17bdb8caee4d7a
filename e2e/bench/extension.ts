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
import { buildEngineExtension, Taker } from '../fixtures/pages/engine-extension.ts';
import { ExtensionBrowser } from '../fixtures/pages/extension.ts';
import { until } from '../fixtures/until.ts';
import type { Stage } from './measuring/stage.ts';

const ROUNDS = 3;

interface Figures {
  readonly megabytesPerSecond: number;
  readonly cpuPerGb: number;
}

export async function extension(stage: Stage): Promise<string> {
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
  return [
    '| | MB/s | CPU-s/GB |',
    '|---|---|---|',
    row('engine in the extension, saving included', engine),
    row("Chromium's own download", own),
  ].join('\n');
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

/** Writes the medians as a row; the first round only warms up. */
function row(name: string, [, ...rounds]: readonly Figures[]): string {
  const median = (figure: keyof Figures) =>
    rounds.map((round) => round[figure]).sort((a, b) => a - b)[rounds.length >> 1] as number;
  return `| ${name} | ${median('megabytesPerSecond').toFixed(0)} | ${median('cpuPerGb').toFixed(2)} |`;
}
