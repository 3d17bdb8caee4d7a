import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import {
  type MarkingSystem,
  markDownloaded,
  quarantine,
  zoneIdentifier,
} from './mark-downloaded.ts';

const URLS = {
  url: 'https://tom:secret@files.test/grün/a.zip?signature=secret#secret',
  referrer: 'https://page.test/x?session=secret',
};

/** Makes a system that records the calls to it. */
function system(platform: NodeJS.Platform, failure?: Error) {
  const done: string[][] = [];
  const note = async (...words: string[]) => {
    if (failure !== undefined) throw failure;
    done.push(words);
  };
  const made: MarkingSystem = {
    platform,
    writeFile: note,
    run: (program, args) => note(program, ...args),
    now: () => 1_700_000_000_999,
    uuid: () => '0b5e8a2c-1c1e-4c1b-9d5f-0123456789ab',
  };
  return { made, done };
}

describe('the Mark of the Web', () => {
  test('names the source, without any part that gives access to it', () => {
    expect(zoneIdentifier(URLS)).toBe(
      '[ZoneTransfer]\r\nZoneId=3\r\nReferrerUrl=https://page.test/x\r\n' +
        'HostUrl=https://files.test/gr%C3%BCn/a.zip\r\n',
    );
  });

  test('names no source for a private download, or for an address that is not a web page', () => {
    const bare = '[ZoneTransfer]\r\nZoneId=3\r\nHostUrl=about:internet\r\n';
    expect(zoneIdentifier({ ...URLS, private: true })).toBe(bare);
    expect(zoneIdentifier({ url: 'x\r\nZoneId=0', referrer: 'file:///home/tom' })).toBe(bare);
    expect(zoneIdentifier({ url: 'https://x.test/\r\nZoneId=0' })).not.toContain('\nZoneId=0');
  });

  test('is written as a stream of the file, by its complete path', async () => {
    const { made, done } = system('win32');
    expect(await markDownloaded('a', URLS, made)).toBeUndefined();
    expect(done).toEqual([[`${resolve('a')}:Zone.Identifier`, zoneIdentifier(URLS)]]);
  });
});

describe('the quarantine attribute', () => {
  test('has flags, time, program and name', () => {
    expect(quarantine(1_700_000_000_999, 'ab-cd')).toBe('0081;6553f100;Millrace;AB-CD');
    expect(quarantine(0, 'x')).toBe('0081;00000000;Millrace;X');
  });

  test('is written by xattr, to a path that cannot be an option', async () => {
    const { made, done } = system('darwin');
    expect(await markDownloaded('-r', URLS, made)).toBeUndefined();
    const value = '0081;6553f100;Millrace;0B5E8A2C-1C1E-4C1B-9D5F-0123456789AB';
    expect(done).toEqual([['/usr/bin/xattr', '-w', 'com.apple.quarantine', value, resolve('-r')]]);
  });
});

describe('markDownloaded', () => {
  test.each(['win32', 'darwin'] as const)('%s: a failure becomes a note', async (platform) => {
    const failure = Object.assign(new Error('it failed'), { code: 'EINVAL' });
    expect(await markDownloaded('a', URLS, system(platform, failure).made)).toContain('EINVAL');
    const other = system(platform, new Error('first line\nsecond'));
    expect(await markDownloaded('a', URLS, other.made)).toBe(
      'the file could not be marked as downloaded (first line)',
    );
  });

  test('writes nothing on other systems', async () => {
    const { made, done } = system('linux');
    expect(await markDownloaded('a', URLS, made)).toBeUndefined();
    expect(done).toEqual([]);
  });

  test('leaves the file itself unchanged, on this system', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'millrace-'));
    try {
      const path = join(dir, 'a.zip');
      await writeFile(path, 'content');
      expect(await markDownloaded(path, URLS)).toBeUndefined();
      expect(await readFile(path, 'utf8')).toBe('content');
    } finally {
      await rm(dir, { recursive: true });
    }
  });
});
