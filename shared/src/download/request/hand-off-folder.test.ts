import { describe, expect, test } from '@jest/globals';
import { type HandOffFolders, handOffFolder } from './hand-off-folder.ts';

const HOME = '/home/ada';
const own = (path: string) => ({ path, own: true });
const USUAL: HandOffFolders = {
  wanted: true,
  app: `${HOME}/Downloads`,
  chosen: false,
  browser: own(`${HOME}/Pictures`),
  home: HOME,
  state: [`${HOME}/state`],
  windows: false,
};

describe('a download that is handed over is saved', () => {
  test.each<[why: string, folders: Partial<HandOffFolders>]>([
    ['the user has chosen it there', {}],
    ['it is deep below the home folder', { browser: own(`${HOME}/a/b/c d/e`) }],
    ['a name has dots, not at its beginning', { browser: own(`${HOME}/a.b/c.`) }],
    ['both have one folder', { browser: own(`${HOME}/Downloads`) }],
    [
      'both have one, which is the user’s choice, wherever',
      {
        app: '/data',
        browser: own('/data'),
        chosen: true,
        wanted: false,
      },
    ],
    ['a name begins as that of the state folder', { browser: own(`${HOME}/state-of-art`) }],
    [
      'Windows has another case',
      {
        windows: true,
        home: 'C:\\Users\\Ada',
        browser: own('c:\\users\\ada\\Pictures'),
        state: [],
      },
    ],
  ])('where the browser would have: %s', (_, folders) => {
    expect(handOffFolder({ ...USUAL, ...folders })).toBe('browser');
  });

  test.each<[why: string, folders: Partial<HandOffFolders>]>([
    ['the user has chosen a folder in the app', { chosen: true }],
    ['the user does not want the browser’s', { wanted: false }],
    ['the browser has said nothing, or no folder', { browser: undefined }],
    ['it is somebody else’s', { browser: { path: `${HOME}/Pictures`, own: false } }],
    ['it is the home folder itself', { browser: own(HOME) }],
    ['it is above the home folder', { browser: own('/home') }],
    ['it is the root', { browser: own('/') }],
    ['it is elsewhere', { browser: own('/etc/cron.d') }],
    ['it is in a home folder whose name begins alike', { browser: own('/home/ada2/x') }],
    ['it is hidden', { browser: own(`${HOME}/.ssh`) }],
    ['it is in a hidden folder', { browser: own(`${HOME}/a/.config/autostart`) }],
    ['it has the app’s state', { browser: own(`${HOME}/state`) }],
    ['it is in the app’s state', { browser: own(`${HOME}/state/a`) }],
    ['macOS starts programs from it', { browser: own(`${HOME}/Library/LaunchAgents`) }],
    [
      'Windows starts programs from it',
      {
        windows: true,
        home: 'C:\\Users\\Ada',
        browser: own(
          'C:\\Users\\Ada\\appdata\\Roaming\\Microsoft\\Windows\\Start Menu\\Programs\\Startup',
        ),
      },
    ],
    [
      'it is on another drive',
      {
        windows: true,
        home: 'C:\\Users\\Ada',
        browser: own('D:\\Users\\Ada\\Pictures'),
      },
    ],
  ])('in the app’s folder: %s', (_, folders) => {
    expect(handOffFolder({ ...USUAL, ...folders })).toBe('app');
  });
});
