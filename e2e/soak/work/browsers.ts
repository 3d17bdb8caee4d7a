/** Browsers with the extension, which takes downloads all the time. */

import { existsSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { BrowserFiles } from '../../fixtures/origins/browser-files.ts';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { buildExtension, ExtensionBrowser } from '../../fixtures/pages/extension.ts';
import { FIREFOX, FirefoxBrowser } from '../../fixtures/pages/firefox.ts';
import type { DaemonCli } from '../../fixtures/programs/daemon-cli.ts';
import { now } from '../account/ledger.ts';
import { Progress } from './progress.ts';
import { pause, type World } from './world.ts';

const CHROMIUM = process.env.MILLRACE_CHROMIUM ?? '/usr/bin/chromium';
const MiB = 1024 * 1024;
const FILE_BYTES = 2 * MiB;
/** Files of a browser, which are downloaded in turns. */
const FILES = 3;
const LOOK_MS = 500;
const REST_MS = 1000;
/** Time after which the origin lets the browser's own download go on, if nobody has taken it. */
const RELEASE_MS = 10_000;
/** Settings with which small files are taken, by whom in turns. */
const SETTINGS = { minBytes: MiB, takeInsecure: true };
const TAKERS = ['desktop', 'desktop', 'browser'];

/** A browser's list entry. */
interface Entry {
  readonly id: number;
  readonly filename: string;
  readonly state: string;
  readonly bytesReceived?: number;
}

/** A browser, as a soak uses it. */
interface Driven {
  readonly name: string;
  click(page: string): Promise<void>;
  set(settings: object): Promise<void>;
  listed(): Promise<readonly Entry[]>;
  asExtension<T>(expression: string): Promise<T>;
  /** Global name of the extension's API. */
  readonly api: 'chrome' | 'browser';
  readonly killBackground?: () => Promise<void>;
  stop(): Promise<void>;
}

interface SoakBrowser {
  readonly killBackground?: () => Promise<void>;
  /** Downloads until the soak ends. @param disk number of the small disk of the daemon's downloads */
  clickOn(world: World, disk: number): Promise<void>;
}

export interface Browsers {
  readonly all: readonly SoakBrowser[];
  /** Browsers that this machine lacks, in words. */
  readonly leftOut: readonly string[];
  stop(): Promise<void>;
}

/** Starts the browsers that the machine has, with the extension and the daemon's native host. */
export async function startBrowsers(folder: string, cli: DaemonCli): Promise<Browsers> {
  const stack = new AsyncDisposableStack();
  try {
    const files = await BrowserFiles.start();
    stack.defer(() => files.stop());
    const built = await buildExtension(join(folder, 'built'));
    const driven: Driven[] = [];
    const leftOut: string[] = [];
    if (existsSync(CHROMIUM)) driven.push(await startChromium(folder, built.chromium, cli));
    else leftOut.push(`Chromium: there is no ${CHROMIUM}`);
    if (existsSync(FIREFOX)) driven.push(await startFirefox(folder, built.firefox, cli));
    else leftOut.push(`Firefox: there is no ${FIREFOX}`);
    for (const one of driven) stack.defer(() => one.stop().catch(() => {}));
    const all = driven.map((one) => ({
      ...(one.killBackground === undefined ? {} : { killBackground: one.killBackground }),
      clickOn: (world: World, disk: number) => clickOn(world, one, files, cli, disk),
    }));
    return { all, leftOut, stop: () => stack.disposeAsync() };
  } catch (error) {
    await stack.disposeAsync();
    throw error;
  }
}

async function startChromium(folder: string, extension: string, cli: DaemonCli): Promise<Driven> {
  const profile = join(folder, 'chromium');
  await cli.json('native-host', 'install', 'chromium', '--dir', profile);
  const browser = await ExtensionBrowser.start({ extension, profile, environment: cli.env });
  return {
    name: 'chromium',
    api: 'chrome',
    click: clicks(async (url) => {
      const page = await browser.context.newPage();
      await page.goto(url);
      return page;
    }),
    set: (settings) => browser.set(settings),
    listed: () => browser.listed(),
    asExtension: (expression) => browser.asExtension(expression),
    killBackground: () => browser.killBackground(),
    stop: () => browser.stop(),
  };
}

async function startFirefox(folder: string, extension: string, cli: DaemonCli): Promise<Driven> {
  await cli.json('native-host', 'install', 'firefox');
  const browser = await FirefoxBrowser.start(folder, extension);
  return {
    name: 'firefox',
    api: 'browser',
    click: clicks((url) => browser.open(url)),
    set: (settings) => browser.set(settings),
    listed: () => browser.listed(),
    asExtension: (expression) => browser.asExtension(expression),
    stop: () => browser.stop(),
  };
}

/** Page of a browser, as either driver has it. */
interface Clickable {
  click(selector: string): Promise<unknown>;
  close(): Promise<unknown>;
}

/**
 * Returns a function that opens a page and clicks its link. The page stays open until the next click:
 * a tab that is closed before the answer has begun takes its download along.
 */
function clicks(open: (url: string) => Promise<Clickable>): (url: string) => Promise<void> {
  let last: Clickable | undefined;
  return async (url) => {
    await last?.close();
    last = undefined;
    last = await open(url);
    await last.click('#link');
  };
}

async function clickOn(
  world: World,
  browser: Driven,
  files: BrowserFiles,
  cli: DaemonCli,
  disk: number,
): Promise<void> {
  const pages = Array.from({ length: FILES }, (_, i) => {
    const name = `soak-${browser.name}-${i}`;
    const body = contentOf(name, FILE_BYTES);
    return { name, body, url: files.add(`/${name}`, { body, name: `${name}.bin` }) };
  });
  for (let number = 0; !world.ended.aborted; number++) {
    const { name, body, url } = pages[number % FILES] as (typeof pages)[number];
    const what = `${browser.name}: ${name}, download ${number}`;
    try {
      await browser.set({ ...SETTINGS, taker: TAKERS[number % TAKERS.length] });
      await browser.click(url);
      await untilSaved(world, browser, files, cli, {
        ...{ name, digest: sha256(body), what, disk },
      });
    } catch (error) {
      if (!world.ended.aborted) world.ledger.trouble(`${what}: ${(error as Error).message}`);
    }
    await pause(world, REST_MS);
  }
}

/** A file that a browser downloads. */
interface Wanted {
  readonly name: string;
  readonly digest: string;
  readonly what: string;
  readonly disk: number;
}

/** Waits until somebody has the file, compares it, and removes it everywhere. */
async function untilSaved(
  world: World,
  browser: Driven,
  files: BrowserFiles,
  cli: DaemonCli,
  { name, digest, what, disk }: Wanted,
): Promise<void> {
  const { ledger } = world;
  const begunAt = now();
  let from = begunAt;
  let hung = false;
  const progress = new Progress(world.hangMs, () => {
    hung = true;
  });
  let seen = '';
  let changes = 0;
  try {
    while (!world.ended.aborted) {
      // A daemon that is away has nothing: the browser keeps the file, or it goes on later.
      const taken = await takenBy(cli, name).catch(() => []);
      const own = (await browser.listed()).filter(({ filename }) =>
        basename(filename).startsWith(name),
      );
      const state = JSON.stringify([taken.map((one) => [one.status, one.storedBytes]), own]);
      if (state !== seen) changes++;
      seen = state;
      progress.tell(changes);
      const paths = [
        ...taken.filter(({ status }) => status === 'complete').map(({ path }) => path),
        ...own.filter(({ state }) => state === 'complete').map(({ filename }) => filename),
      ];
      if (paths.length > 0 && (await handOffs(browser)) === 0) {
        for (const path of paths) {
          const bytes = await readFile(path).catch(() => undefined);
          if (bytes === undefined) continue; // removed since, as a copy of somebody else's
          if (sha256(bytes) !== digest) return ledger.wrongBytes(`browser: ${what}: ${path}`);
          ledger.bytes += bytes.length;
        }
        ledger.done.browser++;
        return;
      }
      const failed = taken.find(({ status }) => status === 'error');
      if (failed !== undefined) {
        const strikes = [
          { kind: 'fill-disk' as const, target: disk },
          { kind: 'kill-daemon' as const },
        ];
        const { code = 'error' } = failed.error ?? {};
        return ledger.fail(
          'browser',
          code,
          begunAt,
          strikes,
          `${what}: ${JSON.stringify(failed.error)}`,
        );
      }
      if (hung) return ledger.hang(`browser: ${what}: ${state.slice(0, 300)}`);
      if (now() - from > RELEASE_MS) {
        from = now();
        files.release();
      }
      await pause(world, LOOK_MS);
    }
  } finally {
    progress.end();
    await cleanUp(browser, cli, name).catch(() => {});
  }
}

interface Taken {
  readonly gid: string;
  readonly status: string;
  readonly storedBytes: number;
  readonly path: string;
  readonly error?: { readonly code?: string };
}

async function takenBy(cli: DaemonCli, name: string): Promise<Taken[]> {
  const { downloads } = await cli.call('search', { text: name });
  return downloads.filter((one) => one.name.startsWith(name)) as unknown as Taken[];
}

/** Counts unfinished hand-offs, whose downloads may still move to a taker and back. */
function handOffs(browser: Driven): Promise<number> {
  return browser.asExtension(`${browser.api}.storage.local.get(null).then((all) =>
    Object.keys(all).filter((key) => key.startsWith('hand-off:')).length)`);
}

/** Removes a file from all lists and from the disk, so that its name is free. */
async function cleanUp(browser: Driven, cli: DaemonCli, name: string): Promise<void> {
  const own = (await browser.listed()).filter(({ filename }) =>
    basename(filename).startsWith(name),
  );
  for (const { id, filename, state } of own) {
    if (state === 'in_progress')
      await browser.asExtension(`${browser.api}.downloads.cancel(${id})`);
    await browser.asExtension(`${browser.api}.downloads.erase({ id: ${id} })`);
    if (filename !== '') await rm(filename, { force: true });
  }
  const gids = (await takenBy(cli, name)).map(({ gid }) => gid);
  if (gids.length > 0)
    await cli.call('remove', { gids, deleteFile: true, forget: true, now: true });
}
