/** Parts that every benchmark needs: a large file at an origin, and a folder for caches. */

import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { contentOf } from '../../fixtures/origins/content.ts';
import { Nginx } from '../../fixtures/origins/nginx.ts';

const FILE_BYTES = 512 * 1024 * 1024;
const FILE_NAME = 'file.bin';

export class Stage {
  readonly origin: Nginx;
  /** Size of the file, bytes. */
  readonly fileBytes = FILE_BYTES;
  /** Path of the file at the origin. */
  readonly filePath = `/${FILE_NAME}`;
  readonly #dir: string;

  private constructor(origin: Nginx, dir: string) {
    this.origin = origin;
    this.#dir = dir;
  }

  /** Makes the file, in memory if possible: disks are not measured. */
  static async set(): Promise<Stage> {
    const parent = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
    const dir = await mkdtemp(join(parent, 'millrace-bench-'));
    try {
      const root = join(dir, 'www');
      await mkdir(root);
      await writeFile(join(root, FILE_NAME), contentOf('bench', FILE_BYTES));
      return new Stage(await Nginx.start({ dir: join(dir, 'origin'), root }), dir);
    } catch (error) {
      await rm(dir, { recursive: true, force: true });
      throw error;
    }
  }

  /** Folder of the file and of all programs. */
  get root(): string {
    return this.#dir;
  }

  /** Returns a folder for one program, not created yet; `clear` removes it. */
  folder(name: string): string {
    return join(this.#dir, name);
  }

  async clear(): Promise<void> {
    await this.origin.stop();
    await rm(this.#dir, { recursive: true, force: true });
  }
}
