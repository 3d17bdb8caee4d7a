/** Runs before the page, isolated from it, and gives the page only `window.millraceShell`. */

import type {
  ShellApi,
  ShellMessage,
  ShellPlatform,
  ShellPreferences,
} from '@millrace/shared/bridge/page/shell-api';
import { contextBridge, ipcRenderer, webUtils } from 'electron';
import { channel, MESSAGE_CHANNEL, type ShellCall } from './logic/payload-channels.ts';

const listeners = new Set<(message: ShellMessage) => void>();
let listening = false;

ipcRenderer.on(MESSAGE_CHANNEL, (_event, message: ShellMessage) => {
  for (const listener of listeners) listener(message);
});

const call = (name: ShellCall, payload?: unknown) => ipcRenderer.invoke(channel(name), payload);

const api: ShellApi = {
  version: 1,
  platform: process.platform as ShellPlatform,
  openFile: (gid) => call('openFile', gid),
  showInFolder: (gid) => call('showInFolder', gid),
  openPage: (gid) => call('openPage', gid),
  chooseFolder: (start) => call('chooseFolder', start),
  offerFile: async (file) => {
    // Only files that the user has dropped or picked have a path: a page cannot make one.
    const path = webUtils?.getPathForFile(file as File) ?? '';
    return path === '' ? undefined : call('offerFile', path);
  },
  offerFolder: () => call('offerFolder'),
  copyText: (text) => call('copyText', text),
  getPreferences: () => call('getPreferences'),
  setPreferences: (changes: Partial<ShellPreferences>) => call('setPreferences', changes),
  showRemote: (address) => call('showRemote', address),
  onMessage(listener) {
    listeners.add(listener);
    if (!listening) {
      listening = true;
      void call('listen');
    }
    return () => void listeners.delete(listener);
  },
};

contextBridge.exposeInMainWorld('millraceShell', api);
