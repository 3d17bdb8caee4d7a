/** The shell's texts in English. */

const several = (n: number, one: string, more: string) => (n === 1 ? one : `${n} ${more}`);

export const en = {
  open: 'Open Millrace',
  add: 'Add Download…',
  openFile: 'Open Metalink File…',
  settings: 'Settings…',
  search: 'Find',
  selectAll: 'Select All',
  pauseAll: 'Pause All',
  resumeAll: 'Resume All',
  quit: 'Quit Millrace',
  file: 'File',
  edit: 'Edit',
  downloads: 'Downloads',
  view: 'View',
  window: 'Window',
  help: 'Help',
  closeWindow: 'Close Window',
  about: 'About Millrace',
  showLog: "Show the Engine's Log",
  defaultHandler: 'Open Metalink Files and millrace: Links with Millrace',
  metalinkFiles: 'Metalink files',
  cancel: 'Cancel',

  idle: 'Nothing is being downloaded',
  running: (n: number) => several(n, '1 download', 'downloads'),
  waiting: (n: number) => `${n} waiting`,
  left: (time: string) => `${time} left`,
  engineStarting: 'The engine is starting',
  engineDown: 'The engine is not running',

  completed: (name: string) => ({ title: 'Download complete', body: name }),
  failed: (name: string, reason: string) => ({ title: `${name} failed`, body: reason }),
  finishedMany: (complete: number, failed: number) => ({
    title: [
      ...(complete > 0 ? [`${several(complete, '1 download', 'downloads')} complete`] : []),
      ...(failed > 0 ? [`${several(failed, '1 download', 'downloads')} failed`] : []),
    ].join(', '),
    body: 'Click to see the list.',
  }),
  copied: (names: string) => ({ title: 'Download what you copied?', body: names }),
  more: (n: number) => `and ${n} more`,
  inTray: {
    title: 'Millrace keeps running in the background',
    body: 'Downloads continue. Open or quit it from the tray.',
  },
  engineRestarted: {
    title: 'The engine stopped and was started again',
    body: 'Downloads continue where they were; nothing is lost.',
  },
  updateReady: (version: string) => ({
    title: `Millrace ${version} is ready`,
    body: 'It is installed when you quit.',
  }),

  quitMessage: (n: number) => `Quit while ${several(n, '1 download is', 'downloads are')} running?`,
  quitDetail: (waiting: number) =>
    `They stop now and continue where they were when Millrace is started again.${
      waiting > 0 ? ` ${waiting} more would be next.` : ''
    }`,
  quitInBackground: 'Keep Downloading in the Background',
  quitNow: 'Quit',

  engineGone: 'The download engine does not stay up',
  engineGoneDetail: (reason: string) =>
    `It has been started again several times. Nothing that was downloaded is lost.\n\n${reason}`,
  tryAgain: 'Try Again',

  opensProgram: (name: string) => `Open ${name}?`,
  opensProgramDetail:
    'A file of this kind may be a program, or start one. Open it only if you trust where it came from.',
  run: 'Open',
  notComplete: 'This download is not complete yet.',
  noFile: 'The file is not there any more.',
  noSuchDownload: 'This download is not in the list any more.',
  cannotOpen: (reason: string) => `It could not be opened: ${reason}`,
  cannotRead: (name: string) => `${name} could not be read`,
  tooLarge: 'It is too large to be a Metalink file.',
};

export type Words = typeof en;
