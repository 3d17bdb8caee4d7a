import { describe, expect, test } from '@jest/globals';
import { readConfig, type Stop } from '../config/config.ts';
import { workerConfig } from '../workers/worker-link.ts';
import { memoryLimit } from './limit.ts';

const MiB = 1024 * 1024;
const GiB = 1024 * MiB;
const limit = (machine: number, ...options: string[]) =>
  memoryLimit(readConfig(options, {}), machine) / MiB;

describe('memoryLimit', () => {
  test('is 2 GiB by default, and grows with the cache', () => {
    expect(limit(64 * GiB)).toBe(2048);
    expect(limit(64 * GiB, '--cache-memory', '8GiB')).toBe(8192 + 1792);
  });

  test('is at most nine tenths of the machine, but leaves room besides the cache', () => {
    expect(limit(GiB)).toBe(Math.floor(0.9 * GiB) / MiB);
    expect(limit(GiB, '--cache-memory', '900MiB')).toBe(900 + 256);
  });

  test('is the one that was set', () => {
    expect(limit(GiB, '--max-memory', '4GiB')).toBe(4096);
  });

  test('is divided among processes', () => {
    const config = readConfig(['--workers', '2', '--max-memory', '2GiB'], {});
    expect(memoryLimit(workerConfig(config, 0)) / MiB).toBe(1024);
    const derived = workerConfig(readConfig(['--workers', '2'], {}), 0);
    expect(memoryLimit(derived, 64 * GiB) / MiB).toBe(1024);
    const many = workerConfig(readConfig(['--workers', '16'], {}), 0);
    expect(memoryLimit(many, 64 * GiB) / MiB).toBe(16 + 512);
  });

  test('a setting that leaves no room for transfers is refused at the start', () => {
    const refused = (...options: string[]) => {
      try {
        readConfig(options, {});
      } catch (stop) {
        return (stop as Stop).message;
      }
      return '';
    };
    expect(refused('--max-memory', '400MiB')).toContain('at least 512 MiB');
    expect(refused('--max-memory', '512MiB')).toBe('');
    expect(refused('--max-memory', '512MiB', '--workers', '2')).toContain('at least 768 MiB');
  });
});
