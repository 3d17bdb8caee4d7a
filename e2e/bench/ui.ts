/**
 * Measures the interface under load: how long it takes to appear with a long history, and whether
 * scrolling stays smooth while downloads run.
 */

import type { Browser, Page } from 'playwright-core';
import { SlowFiles } from '../fixtures/origins/slow-files.ts';
import { CHROMIUM, launchBrowser, openUi, startUiDaemon } from '../fixtures/pages/ui.ts';
import type { DaemonProcess } from '../fixtures/programs/daemon.ts';
import { temporaryFolder } from '../fixtures/programs/processes.ts';
import { until } from '../fixtures/until.ts';
import { fillHistory } from './fill-history.ts';

const RUNNING = 20;
const RATE = 32 * 1024;
const SCROLL_MS = 10_000;
const MEMORY_MS = Number(process.env.MILLRACE_BENCH_MEMORY_MS ?? 60_000);

interface Smoothness {
  readonly longestMs: number;
  readonly longTasks: number;
  readonly framesPerSecond: number;
  /** Processor time of the page's main thread per frame: independent of other programs' load. */
  readonly cpuMs: number;
  readonly elements: number;
}

export async function ui(): Promise<string> {
  const origin = await SlowFiles.start(RATE);
  const browser = await launchBrowser(CHROMIUM);
  try {
    const rows: string[][] = [];
    for (const entries of [2000, 10_000]) {
      const folder = await temporaryFolder();
      const daemon = await startUiDaemon(folder.path);
      try {
        await fillHistory((list) => daemon.call('millrace.import', list), entries);
        const started = await coldStart(browser, daemon);
        await run(daemon, origin);
        const bare = await bareList(browser, entries);
        const { page } = await openUi(browser, daemon);
        await page.getByRole('grid').locator('[data-gid]').nth(3).click();
        const smooth = await scroll(page);
        const [before, after] = await memory(page);
        rows.push([
          String(entries),
          `${Math.round(started)} ms`,
          `${smooth.framesPerSecond.toFixed(0)}/s`,
          `${bare.framesPerSecond.toFixed(0)}/s`,
          `${smooth.cpuMs.toFixed(1)} ms`,
          `${Math.round(smooth.longestMs)} ms`,
          String(smooth.longTasks),
          String(smooth.elements),
          `${before} → ${after} MiB`,
        ]);
        await page.context().close();
      } finally {
        await daemon.stop();
        await folder.remove();
      }
    }
    const head = [
      'entries',
      'usable after',
      'frames',
      'of a bare list',
      'CPU per frame',
      'longest task',
      'over 50 ms',
      'elements',
      'heap',
    ];
    return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
  } finally {
    await browser.close();
    await origin.stop();
  }
}

/** Opens the address and waits for the first row. @returns milliseconds */
async function coldStart(browser: Browser, daemon: DaemonProcess): Promise<number> {
  const { url } = await daemon.call('millrace.loginLink');
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  const began = performance.now();
  await page.goto(url);
  await page.getByRole('grid').locator('[data-gid]').first().waitFor();
  const ms = performance.now() - began;
  await context.close();
  return ms;
}

async function run(daemon: DaemonProcess, origin: SlowFiles): Promise<void> {
  await daemon.call('millrace.setLimits', { concurrent: RUNNING });
  for (let i = 0; i < RUNNING; i++) {
    await daemon.add({ urls: [origin.add(`/running-${i}.iso`, { bytes: 2 ** 30 })] });
  }
  await until(async () => {
    const list = await daemon.call('millrace.list', {
      status: ['active'],
    });
    return list.downloads.filter(({ storedBytes }) => storedBytes > 0).length === RUNNING;
  });
}

/** Measures the browser itself: a list of plain text, beside the same downloads. */
async function bareList(browser: Browser, entries: number): Promise<Smoothness> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  const rows = Array.from(
    { length: entries },
    (_, i) => `<p style="height:40px">file ${i}.iso</p>`,
  );
  await page.setContent(
    `<div role="grid" style="height:800px;overflow:auto">${rows.join('')}</div>`,
  );
  const smooth = await scroll(page);
  await context.close();
  return smooth;
}

/** Scrolls down and up for `SCROLL_MS`. */
async function scroll(page: Page): Promise<Smoothness> {
  const cpuMs = await mainThreadClock(page);
  const before = await cpuMs();
  const seen = await page.evaluate(async (ms) => {
    const grid = document.querySelector('[role="grid"]') as HTMLElement;
    const tasks: number[] = [];
    const observer = new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) tasks.push(entry.duration);
    });
    observer.observe({ entryTypes: ['longtask'] });
    const began = performance.now();
    let frames = 0;
    let step = 40;
    while (performance.now() - began < ms) {
      await new Promise((resolve) => requestAnimationFrame(resolve));
      frames++;
      grid.scrollTop += step;
      const end = grid.scrollHeight - grid.clientHeight;
      if (grid.scrollTop >= end || grid.scrollTop <= 0) step = -step;
    }
    observer.disconnect();
    return {
      longestMs: Math.max(0, ...tasks),
      longTasks: tasks.length,
      frames,
      framesPerSecond: (frames * 1000) / (performance.now() - began),
      elements: document.querySelectorAll('*').length,
    };
  }, SCROLL_MS);
  return { ...seen, cpuMs: ((await cpuMs()) - before) / seen.frames };
}

/** @returns a function that reads the processor time of the page's main thread, milliseconds */
async function mainThreadClock(page: Page): Promise<() => Promise<number>> {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  return async () => {
    const { metrics } = await session.send('Performance.getMetrics');
    return 1000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN);
  };
}

/** Measures the page's heap before and after `MEMORY_MS`, in MiB, each after a collection. */
async function memory(page: Page): Promise<[string, string]> {
  const session = await page.context().newCDPSession(page);
  const used = async () => {
    await session.send('HeapProfiler.collectGarbage');
    const { usedSize } = await session.send('Runtime.getHeapUsage');
    return (usedSize / 2 ** 20).toFixed(1);
  };
  const before = await used();
  await new Promise((resolve) => setTimeout(resolve, MEMORY_MS));
  return [before, await used()];
}
