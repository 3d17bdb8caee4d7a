/** The shell's texts in German. */

import type { Words } from './words-en.ts';

const several = (n: number, one: string, more: string) => (n === 1 ? one : `${n} ${more}`);

export const de: Words = {
  open: 'Millrace öffnen',
  add: 'Download hinzufügen …',
  openFile: 'Metalink-Datei öffnen …',
  settings: 'Einstellungen …',
  search: 'Suchen',
  selectAll: 'Alles auswählen',
  pauseAll: 'Alle anhalten',
  resumeAll: 'Alle fortsetzen',
  quit: 'Millrace beenden',
  file: 'Datei',
  edit: 'Bearbeiten',
  downloads: 'Downloads',
  view: 'Ansicht',
  window: 'Fenster',
  help: 'Hilfe',
  closeWindow: 'Fenster schließen',
  about: 'Über Millrace',
  showLog: 'Protokoll der Engine zeigen',
  defaultHandler: 'Metalink-Dateien und millrace:-Links mit Millrace öffnen',
  metalinkFiles: 'Metalink-Dateien',
  cancel: 'Abbrechen',

  idle: 'Nichts wird heruntergeladen',
  running: (n) => several(n, '1 Download', 'Downloads'),
  waiting: (n) => several(n, '1 wartet', 'warten'),
  left: (time) => `noch ${time}`,
  engineStarting: 'Die Engine startet',
  engineDown: 'Die Engine läuft nicht',

  completed: (name) => ({ title: 'Download fertig', body: name }),
  failed: (name, reason) => ({ title: `${name} ist fehlgeschlagen`, body: reason }),
  finishedMany: (complete, failed) => ({
    title: [
      ...(complete > 0 ? [`${several(complete, '1 Download', 'Downloads')} fertig`] : []),
      ...(failed > 0 ? [`${several(failed, '1 Download', 'Downloads')} fehlgeschlagen`] : []),
    ].join(', '),
    body: 'Klicke, um die Liste zu sehen.',
  }),
  copied: (names) => ({ title: 'Herunterladen, was du kopiert hast?', body: names }),
  more: (n) => `und ${n} weitere`,
  inTray: {
    title: 'Millrace läuft im Hintergrund weiter',
    body: 'Downloads gehen weiter. Öffnen und beenden kannst du es im Infobereich.',
  },
  engineRestarted: {
    title: 'Die Engine war ausgefallen und läuft wieder',
    body: 'Downloads gehen dort weiter, wo sie waren; nichts ist verloren.',
  },
  updateReady: (version) => ({
    title: `Millrace ${version} ist bereit`,
    body: 'Es wird beim Beenden installiert.',
  }),

  quitMessage: (n) => `Beenden, während ${n === 1 ? '1 Download läuft' : `${n} Downloads laufen`}?`,
  quitDetail: (waiting) =>
    `Sie halten an und gehen beim nächsten Start von Millrace dort weiter, wo sie waren.${
      waiting > 0 ? ` ${several(waiting, '1 weiterer wartet', 'weitere warten')} noch.` : ''
    }`,
  quitInBackground: 'Im Hintergrund weiterladen',
  quitNow: 'Beenden',

  engineGone: 'Die Download-Engine fällt immer wieder aus',
  engineGoneDetail: (reason) =>
    `Sie wurde mehrmals neu gestartet. Nichts, was heruntergeladen wurde, ist verloren.\n\n${reason}`,
  tryAgain: 'Noch einmal versuchen',

  opensProgram: (name) => `${name} öffnen?`,
  opensProgramDetail:
    'Eine Datei dieser Art kann ein Programm sein oder eines starten. Öffne sie nur, wenn du ihrer Herkunft vertraust.',
  run: 'Öffnen',
  notComplete: 'Dieser Download ist noch nicht fertig.',
  noFile: 'Die Datei ist nicht mehr da.',
  noSuchDownload: 'Dieser Download steht nicht mehr in der Liste.',
  cannotOpen: (reason) => `Sie lässt sich nicht öffnen: ${reason}`,
  cannotRead: (name) => `${name} lässt sich nicht lesen`,
  tooLarge: 'Sie ist zu groß für eine Metalink-Datei.',
};
