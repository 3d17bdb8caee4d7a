import { expect, test } from '@jest/globals';
import { mayRun } from './file-kind.ts';

test.each([
  'setup.exe',
  'Setup.EXE',
  'film.mkv.exe. ',
  'tool.AppImage',
  'a.desktop',
  'a.sh',
  // Kinds that lists of programs often omit.
  'a.settingcontent-ms',
  'a.xll',
  'a.one',
  'a.gadget',
  'a.inf',
  'a.docm',
  'a.chm',
  'a.iso',
  'a.img',
  'a.vhdx',
  'a.dmg',
  'a.html',
  'a.svg',
  'a.snap',
  'a.flatpak',
  'a.apk',
  'a.pyc',
  'a.kind-of-next-year',
  'README',
  'exe',
  'film.mkv:x.exe',
  'film.txt:stream',
  '',
])('%s is asked about', (name) => {
  expect(mayRun(name)).toBe(true);
});

test.each([
  'film.mkv',
  'Photo.JPG',
  'paper.pdf',
  'a.tar.gz',
  'notes.txt ',
  'song.flac',
  'a.zip',
  'C:\\d.exe\\a.pdf',
  '/home/u/x.sh/a.pdf',
])('%s is only shown', (name) => {
  expect(mayRun(name)).toBe(false);
});
