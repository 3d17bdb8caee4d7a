/** Small disks in memory that can be filled up. They need the right to mount. */

import { spawnSync } from 'node:child_process';
import { mkdir, open, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';

/** Bytes per write of the filler. */
const STEP_BYTES = 256 * 1024;
/** File that takes the space. */
const FILLER = '.filler';

export class SmallDisk {
  readonly path: string;
  readonly name: string;
  readonly #mounted: boolean;

  private constructor(path: string, name: string, mounted: boolean) {
    this.path = path;
    this.name = name;
    this.#mounted = mounted;
  }

  /** Mounts a disk; where that is impossible it is a plain folder, which never gets full. */
  static async mount(path: string, name: string, mebibytes: number): Promise<SmallDisk> {
    const { path: there } = await SmallDisk.folder(path, name);
    const options = ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tmpfs', there];
    const { status } = spawnSync('mount', options, { stdio: 'ignore' });
    return new SmallDisk(path, name, status === 0);
  }

  /** Makes a plain folder in place of a disk. */
  static async folder(path: string, name: string): Promise<SmallDisk> {
    await mkdir(path, { recursive: true });
    return new SmallDisk(path, name, false);
  }

  get canBeFull(): boolean {
    return this.#mounted;
  }

  /** Takes all space that is left. */
  async fill(): Promise<void> {
    const filler = await open(join(this.path, FILLER), 'a');
    try {
      const block = Buffer.alloc(STEP_BYTES);
      for (;;) {
        const { bavail, bsize } = await statfs(this.path);
        if (bavail === 0) return;
        await filler.write(block, 0, Math.min(block.length, bavail * bsize));
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    } finally {
      await filler.close();
    }
  }

  /** Gives the space back. */
  async empty(): Promise<void> {
    await rm(join(this.path, FILLER), { force: true });
  }

  /** Unmounts the disk as soon as nobody uses it. */
  unmount(): void {
    if (this.#mounted) spawnSync('umount', ['-l', this.path]);
  }
}
