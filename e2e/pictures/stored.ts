/**
 * Takes the pictures of a depot's pages that the stories show: `node e2e/pictures/stored.ts [FOLDER]`.
 * It takes some seconds.
 */

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { contentOf } from '../fixtures/origins/content.ts';
import { openPage } from '../fixtures/pages/edge-pages.ts';
import { CHROMIUM, launchBrowser } from '../fixtures/pages/ui.ts';
import { EdgeProcess, runCli, temporaryFolder } from '../fixtures/programs/processes.ts';

const folder = process.argv[2] ?? fileURLToPath(new URL('../../edge/screenshots', import.meta.url));
const MIB = 1024 * 1024;

const own = await temporaryFolder();
const inside = (name: string) => join(own.path, name);
const env = { MILLRACE_STATE: inside('state') };

/** Runs a command. @returns what it prints */
async function run(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runCli(args, env);
  if (code !== 0) throw new Error(stdout + stderr);
  return stdout;
}

await mkdir(folder, { recursive: true });
const owner = JSON.parse(await run('edge', 'owner', 'alice', '--json'));
await writeFile(inside('owners'), `${owner.line}\n`);
await writeFile(inside('token'), owner.token);
await writeFile(inside('talk.tar'), contentOf('pictures', 48 * MIB));
const edge = await EdgeProcess.start([
  ...['--depot-dir', inside('depot'), '--depot-owners-file', inside('owners')],
  ...['--client-requests', '0'],
]);
const browser = await launchBrowser(CHROMIUM);
try {
  const at = ['--edge', edge.url, '--token-file', inside('token'), '--json'];
  const stored = await run(
    'upload',
    inside('talk.tar'),
    '--encrypt',
    '-o',
    inside('x.exnode'),
    ...at,
  );
  const { links } = JSON.parse(stored.trim().split('\n').at(-1) as string);
  const { guest } = JSON.parse(await run('invite', '--bytes', '2GiB', '--for', '3d', ...at));
  const viewport = { width: 760, height: 520 };
  const { page } = await openPage(browser, { viewport });
  const take = (name: string) => page.screenshot({ path: join(folder, `${name}.png`) });
  await page.goto(links[0]);
  await page.getByRole('button', { name: 'Save' }).waitFor();
  await take('receive');
  await page.goto(guest);
  await page.getByText('2 GiB').waitFor();
  await take('guest');
} finally {
  await browser.close();
  await edge.stop();
  await own.remove();
}
