/**
 * A disk that is soon full, or cannot be written: a file system in memory. Needs Linux and root.
 */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Tells whether there can be a small disk; if not, says loudly that `what` is not tested. */
export function smallDiskOrComplain(what: string): boolean {
  try {
    new SmallDisk(1).remove();
    return true;
  } catch (error) {
    const reason = (error as Error).message.trim().split('\n').at(-1);
    process.stderr.write(`\n!!! no small disk (${reason}): NOT TESTED: ${what}\n\n`);
    return false;
  }
}

export class SmallDisk {
  readonly path = mkdtempSync(join(tmpdir(), 'millrace-disk-'));

  /** Mounts the disk. @throws Error with the output of `mount`, where that fails */
  constructor(mebibytes: number) {
    try {
      run('mount', '-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'millrace-test', this.path);
    } catch (error) {
      rmdirSync(this.path);
      throw error;
    }
  }

  setReadOnly(): void {
    run('mount', '-o', 'remount,ro', this.path);
  }

  remove(): void {
    run('umount', this.path);
    rmdirSync(this.path);
  }
}

function run(command: string, ...args: string[]): void {
  execFileSync(command, args, { stdio: ['ignore', 'ignore', 'pipe'], encoding: 'utf8' });
}
