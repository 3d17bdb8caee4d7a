import { describe, expect, test } from '@jest/globals';
import { pathFault } from '../../sync/sync-path.ts';
import { possibleFileName, safeFileName } from './file-name.ts';
import { folderBelow, nameBelow } from './imported-path.ts';

/** Names that do harm by themselves; how a stranger's file is called; whether Windows reads it. */
const HARMFUL: readonly (readonly [name: string, safe: string, windows?: 'windows'])[] = [
  ['desktop.ini', '_desktop.ini', 'windows'],
  ['DeskTop.INI', '_DeskTop.INI', 'windows'],
  ['desktop.ın\u0131', '_desktop.ın\u0131', 'windows'],
  ['autorun.inf', '_autorun.inf', 'windows'],
  ['AUTORUN.INF', '_AUTORUN.INF', 'windows'],
  ['Thumbs.db', '_Thumbs.db', 'windows'],
  ['folder.htt', '_folder.htt', 'windows'],
  ['invoice.pdf.lnk', 'invoice.pdf.lnk.download', 'windows'],
  ['x.LNK', 'x.LNK.download', 'windows'],
  ['x.url', 'x.url.download', 'windows'],
  ['x.website', 'x.website.download', 'windows'],
  ['@x.scf', '@x.scf.download', 'windows'],
  ['Documents.library-ms', 'Documents.library-ms.download', 'windows'],
  ['x.searchConnector-ms', 'x.searchConnector-ms.download', 'windows'],
  ['x.search-ms', 'x.search-ms.download', 'windows'],
  ['x.theme', 'x.theme.download', 'windows'],
  ['x.appref-ms', 'x.appref-ms.download', 'windows'],
  ['x.SettingContent-ms', 'x.SettingContent-ms.download', 'windows'],
  ['x.pif', 'x.pif.download', 'windows'],
  [
    'photo.jpg.{3050f4d8-98b5-11cf-bb82-00aa00bdce0b}',
    'photo.jpg.{3050f4d8-98b5-11cf-bb82-00aa00bdce0b}.download',
    'windows',
  ],
  ['x.desktop', 'x.desktop.download'],
  ['x.webloc', 'x.webloc.download'],
  ['x.inetloc', 'x.inetloc.download'],
  ['setup.exe.local', 'setup.exe.local.download'],
  ['setup.exe.manifest', 'setup.exe.manifest.download'],
  ['setup.exe.config', 'setup.exe.config.download'],
  ['film.mkv.millrace-part', 'film.mkv.millrace-part.download'],
  ['film.mkv.millrace-journal', 'film.mkv.millrace-journal.download'],
  ['film.mkv.millrace-journal.new', 'film.mkv.millrace-journal.new.download'],
];

/** Names that hide something or are read in another way by some program, and what they become. */
const MISLEADING: readonly (readonly [name: string, safe: string])[] = [
  ['.DS_Store', 'DS_Store'],
  ['.directory', 'directory'],
  ['.hidden', 'hidden'],
  ['._x', '_x'],
  ['.\u200b.bashrc', 'bashrc'],
  ['x.lnk.', 'x.lnk.download'],
  ['x.lnk \u00a0. ', 'x.lnk.download'],
  ['x.lnk\u200b', 'x.lnk.download'],
  ['x.l\u00adnk', 'x.lnk.download'],
  ['x.lnk:stream', 'x.lnk_stream'],
  ['desktop.ini::$DATA', 'desktop.ini__$DATA'],
  [`${'a'.repeat(196)}.lnk${'b'.repeat(40)}`, `${'a'.repeat(187)}.lnk.download`],
  ['con .txt', '_con .txt'],
  ['CONIN$', '_CONIN$'],
  ['conout$.txt', '_conout$.txt'],
  ['com¹', '_com¹'],
  ['~', '_'],
  ['~root', '_~root'],
  ['~$report.docx', '_~$report.docx'],
  ['report.txt~', 'report.txt_'],
  ['report.txt~~ .~', 'report.txt_'],
  ['PROGRA~1', 'PROGRA_1'],
  ['A~B~1.EXE', 'A_B_1.EXE'],
  ['-rf', '_-rf'],
  ['--checkpoint-action=exec=sh x.sh', '_--checkpoint-action=exec=sh x.sh'],
  ['photo\u202egnp.exe', 'photognp.exe'],
  ['photo\u061cgnp.exe', 'photognp.exe'],
  ['photo\u2067gnp.exe', 'photognp.exe'],
  ['a\u3164b\u115f\u034f\u180e.txt', 'ab.txt'],
  ['a\u{e0041}\u{e0001}b.txt', 'ab.txt'],
  [`invoice.pdf${' '.repeat(90)}.exe`, 'invoice.pdf .exe'],
  [`invoice.pdf${'\u2800\u3000'.repeat(30)}.exe`, 'invoice.pdf .exe'],
  ['a\x1b[2Jb\x07', 'a_[2Jb_'],
];

/** Names of ordinary files that look a little like harmful ones. */
const HARMLESS = [
  'desktop.ini.txt',
  'my desktop.ini',
  'autorun.info',
  'url',
  'lnk',
  'xlnk',
  'a.url.zip',
  'theme.zip',
  'x.config',
  'AndroidManifest.xml',
  'x.manifest',
  'locale.local.txt',
  'firefox-esr_128.5.0esr-1~deb12u1_amd64.deb',
  'a-b.iso',
  "it's~100%&more#.bin",
  '{x}.zip',
  'a  b.txt',
  'قائمة.pdf',
  'app.dll',
];

describe('a file that a stranger names', () => {
  test.each(HARMFUL)('%s is not called so, but %s', (name, safe) => {
    expect(safeFileName(name)).toBe(safe);
    expect(safeFileName(safe)).toBe(safe);
    // A list names paths, and folders are read as well.
    expect(nameBelow(`a/${name}`)).toBe(`a/${safe}`);
    expect(folderBelow('/d', name, false)).toBe(safe);
  });

  test.each(MISLEADING)('%j hides nothing: %j', (name, safe) => {
    expect(safeFileName(name)).toBe(safe);
    expect(safeFileName(safe)).toBe(safe);
  });

  test.each(HARMLESS)('%s may be called so', (name) => {
    expect(safeFileName(name)).toBe(name);
  });
});

test.each(HARMFUL.map(([name]) => name))('a user may call a file %s', (name) => {
  expect(possibleFileName(name)).toBe(name);
});

test.each(['.bashrc', '-rf', '~', 'report.txt~', '~$report.docx', 'PROGRA~1'])(
  'a user may call a file %s',
  (name) => {
    expect(possibleFileName(name)).toBe(name);
  },
);

test.each([
  ['con', '_con'],
  ['a:b', 'a_b'],
  ['a.', 'a'],
  ['../x', 'x'],
  ['a\x00b', 'a_b'],
  ['...', 'download'],
])('what cannot be a name is changed for users as well: %j', (name, possible) => {
  expect(possibleFileName(name)).toBe(possible);
});

test.each(HARMFUL.map(([name, _, windows]) => [name, windows !== undefined] as const))(
  'of a folder that is kept in step, %s is refused on Windows: %s',
  (name, isRefused) => {
    expect(pathFault(`a/${name}`, true) !== undefined).toBe(isRefused);
    expect(pathFault(`a/${name}/b`, true) !== undefined).toBe(isRefused);
    // Discs of Linux distributions have an autorun.inf, which nothing reads there.
    expect(pathFault(`a/${name}`, false)).toBeUndefined();
  },
);

test.each(['a\u202eb', 'a\u2066b'])('a path that turns text around is refused: %j', (path) => {
  expect(pathFault(path, false)).toMatch(/direction/);
});
