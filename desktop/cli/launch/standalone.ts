/**
 * Main file of the standalone executable: a Node with the programs inside. It unpacks them once,
 * into the state folder, because threads and native code have to be files, and then runs the one that
 * is asked for. Bundled as CommonJS, the only kind of main file that such an executable takes.
 */

import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { getAsset } from 'node:sea';
import { stateFolder } from '../../local/local-edge.ts';

/** Contents of the executable, as scripts/packages/standalone.mjs writes them. */
interface Contents {
  /** Digest of all files. */
  readonly id: string;
  /** Paths of the files in the npm package, with slashes. */
  readonly files: readonly string[];
}

const PROGRAM = /[/\\]programs[/\\][0-9a-f]{32}[/\\]lib[/\\]([\w-]+\.mjs)$/;

const contents = JSON.parse(getAsset('contents.json', 'utf8')) as Contents;
const folder = join(stateFolder(), 'programs', contents.id);
unpack();

// Programs start each other by path, as they do under Node. The path may be that of an earlier
// version, of which a browser's registration still knows: the same program of this version runs.
const [, , first = '', ...rest] = process.argv;
const named = PROGRAM.exec(first)?.[1];
const own = named === undefined ? '' : join(folder, 'lib', basename(named));
const isProgram = own !== '' && existsSync(own);
const main = isProgram ? own : join(folder, 'lib', 'millrace.mjs');
process.argv = [process.execPath, main, ...(isProgram ? rest : process.argv.slice(2))];
// Only a file can import another one.
createRequire(join(folder, 'start.cjs'))('./start.cjs')(main);

/** Unpacks the programs. A folder is complete as soon as it has its name. */
function unpack(): void {
  if (existsSync(folder)) return;
  const parent = dirname(folder);
  const part = `${folder}.${process.pid}.part`;
  try {
    mkdirSync(parent, { recursive: true, mode: 0o700 });
    for (const file of contents.files) {
      const path = join(part, ...file.split('/'));
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      writeFileSync(path, new Uint8Array(getAsset(file)), { mode: 0o700 });
    }
    renameSync(part, folder);
  } catch (error) {
    rmSync(part, { recursive: true, force: true });
    // Another process may have been quicker.
    if (existsSync(folder)) return;
    process.stderr.write(
      `Millrace cannot unpack its programs into ${parent} (${(error as Error).message}).\n` +
        'Make room there, or name another folder in the environment variable MILLRACE_STATE.\n',
    );
    process.exit(6);
  }
}
