/** The menus of the app and the tray. */

import type { ShellCommand } from '@millrace/shared/bridge/page/shell-api';
import { app, Menu, type MenuItemConstructorOptions } from 'electron';
import type { Words } from '../text/words.ts';

export interface MenuActions {
  open(): void;
  openMini(): void;
  command(command: ShellCommand): void;
  openFile(): void;
  pauseAll(): void;
  resumeAll(): void;
  showLog(): void;
  closeWindow(): void;
  quit(): void;
}

type Items = MenuItemConstructorOptions[];

export function setAppMenu(words: Words, actions: MenuActions): void {
  const mac = process.platform === 'darwin';
  const settings: MenuItemConstructorOptions = {
    label: words.t('settings'),
    accelerator: 'CmdOrCtrl+,',
    click: () => actions.command('settings'),
  };
  const quit: MenuItemConstructorOptions = {
    label: words.t('quit'),
    accelerator: 'CmdOrCtrl+Q',
    click: actions.quit,
  };
  const appMenu: Items = [
    { role: 'about', label: words.t('about') },
    { type: 'separator' },
    settings,
    { type: 'separator' },
    { role: 'hide' },
    { role: 'hideOthers' },
    { type: 'separator' },
    quit,
  ];
  const template: Items = [
    ...(mac ? [{ label: app.name, submenu: appMenu }] : []),
    {
      label: words.t('file'),
      submenu: fileMenu(words, actions, mac ? [] : [settings], mac ? [] : [quit]),
    },
    { label: words.t('edit'), submenu: editMenu(words, actions) },
    {
      label: words.t('downloads'),
      submenu: [
        { label: words.t('pauseAll'), click: actions.pauseAll },
        { label: words.t('resumeAll'), click: actions.resumeAll },
      ],
    },
    {
      label: words.t('view'),
      submenu: [
        { label: words.t('mini'), accelerator: 'CmdOrCtrl+Shift+M', click: actions.openMini },
        { type: 'separator' },
        { role: 'resetZoom' },
        { role: 'zoomIn' },
        { role: 'zoomOut' },
        { type: 'separator' },
        { role: 'togglefullscreen' },
      ],
    },
    {
      role: 'help',
      label: words.t('help'),
      submenu: [{ label: words.t('showLog'), click: actions.showLog }],
    },
  ];
  Menu.setApplicationMenu(Menu.buildFromTemplate(template));
}

/** Returns the tray's menu. @param text the tray's text: some desktops show no tooltips */
export function trayMenu(text: string, words: Words, actions: MenuActions): Items {
  return [
    { label: text, enabled: false },
    { type: 'separator' },
    { label: words.t('open'), click: actions.open },
    { label: words.t('mini'), click: actions.openMini },
    { label: words.t('add'), click: () => actions.command('add') },
    { type: 'separator' },
    { label: words.t('pauseAll'), click: actions.pauseAll },
    { label: words.t('resumeAll'), click: actions.resumeAll },
    { type: 'separator' },
    { label: words.t('quit'), click: actions.quit },
  ];
}

function fileMenu(words: Words, actions: MenuActions, settings: Items, quit: Items): Items {
  return [
    { label: words.t('add'), accelerator: 'CmdOrCtrl+N', click: () => actions.command('add') },
    { label: words.t('openFile'), accelerator: 'CmdOrCtrl+O', click: actions.openFile },
    { type: 'separator' },
    ...settings,
    { label: words.t('closeWindow'), accelerator: 'CmdOrCtrl+W', click: actions.closeWindow },
    { type: 'separator' },
    ...quit,
  ];
}

function editMenu(words: Words, actions: MenuActions): Items {
  return [
    { role: 'undo' },
    { role: 'redo' },
    { type: 'separator' },
    { role: 'cut' },
    { role: 'copy' },
    { role: 'paste' },
    { role: 'selectAll' },
    { type: 'separator' },
    {
      label: words.t('search'),
      accelerator: 'CmdOrCtrl+F',
      click: () => actions.command('search'),
    },
  ];
}
