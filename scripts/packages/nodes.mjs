/** Finds the Node that goes into a package, for this system and for others. */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../bundle.mjs';

/** Version of Node that packages carry: that of the project. */
const NODE_VERSION = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).devDependencies
  .node;

const fileOf = (platform) => (platform === 'win32' ? 'node.exe' : 'node');

/**
 * Returns the path of the Node for a system, and fetches it from the npm registry if it is for
 * another one than this.
 *
 * @param platform as `process.platform`
 * @param arch as `process.arch`
 * @throws Error if it cannot be had
 */
export function nodeFor(platform, arch) {
  const own = join(root, 'node_modules', 'node', 'bin', fileOf(platform));
  if (platform === process.platform && arch === process.arch && existsSync(own)) return own;
  const name = `node-${platform === 'win32' ? 'win' : platform}-${arch}`;
  const folder = join(root, 'dist', 'nodes', `${name}-${NODE_VERSION}`);
  const path = join(folder, 'package', 'bin', fileOf(platform));
  if (!existsSync(path)) fetchNode(`${name}@${NODE_VERSION}`, folder);
  return path;
}

function fetchNode(name, folder) {
  mkdirSync(folder, { recursive: true });
  const npm = ['pack', '--silent', '--pack-destination', folder, name];
  const { stdout } = must('npm', npm, { shell: process.platform === 'win32' });
  must('tar', ['-xzf', join(folder, stdout.trim().split('\n').at(-1)), '-C', folder]);
}

/** Runs a program to its end. @throws Error with its words if it fails */
export function must(program, args, options = {}) {
  const result = spawnSync(program, args, { encoding: 'utf8', maxBuffer: 2 ** 26, ...options });
  if (result.status === 0) return result;
  const why = result.error?.message ?? (result.stderr.trim() || result.stdout.trim());
  throw new Error(`${program} ${args[0]} failed: ${why}`);
}
