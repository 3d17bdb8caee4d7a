/**
 * Hands a log-in code to the user's browser. All users of a machine can read the command lines of
 * its processes, so the browser gets the name of a file that only its user can read. The file leads
 * to the page with the code, and is deleted once the code is used or has expired.
 */

import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { open, readdir, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Millis } from '@millrace/shared/base/clock';

const NAME = /^millrace-login-[\w-]+\.html$/;

export class LoginPages {
  readonly #folder: string;
  readonly #goodForMs: Millis;
  readonly #pages = new Map<string, NodeJS.Timeout>();

  /**
   * @param state folder that only the user can read
   * @param snaps whether browsers may be snaps, which see no hidden folders
   */
  constructor(state: string, goodForMs: Millis, snaps = existsSync('/snap/bin')) {
    this.#folder = snaps ? homedir() : state;
    this.#goodForMs = goodForMs;
  }

  /**
   * Writes a page that leads to a URL.
   *
   * @returns path of the page
   */
  async make(url: string): Promise<string> {
    const name = `millrace-login-${randomBytes(12).toString('base64url')}.html`;
    const path = join(this.#folder, name);
    const file = await open(path, 'wx', 0o600);
    try {
      await file.writeFile(pageTo(url));
    } finally {
      await file.close();
    }
    const timer = setTimeout(() => void this.#remove(path), this.#goodForMs);
    timer.unref();
    this.#pages.set(path, timer);
    return path;
  }

  /** Deletes all pages: a code has been used, and pages that were not opened are useless. */
  async clear(): Promise<void> {
    await Promise.all([...this.#pages.keys()].map((path) => this.#remove(path)));
  }

  /** Deletes the pages that a killed daemon left behind. */
  async sweep(): Promise<void> {
    const names = await readdir(this.#folder).catch(() => []);
    const left = names.filter((name) => NAME.test(name));
    await Promise.all(left.map((name) => this.#remove(join(this.#folder, name))));
  }

  async #remove(path: string): Promise<void> {
    clearTimeout(this.#pages.get(path));
    this.#pages.delete(path);
    await rm(path, { force: true }).catch(() => {});
  }
}

function pageTo(url: string): string {
  const text = url.replace(/[&"<>]/g, (char) => `&#${char.charCodeAt(0)};`);
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Millrace</title>
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0;url=${text}"></head>
<body><a href="${text}">Millrace</a></body></html>
`;
}
