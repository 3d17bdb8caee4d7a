/** Files that do something when they are opened, rather than being shown. */

const PROGRAMS: ReadonlySet<string> = new Set([
  ...['exe', 'msi', 'msix', 'appx', 'bat', 'cmd', 'com', 'scr', 'pif', 'ps1', 'vbs', 'vbe'],
  ...['js', 'jse', 'wsf', 'wsh', 'hta', 'lnk', 'url', 'reg', 'cpl', 'msc', 'jar', 'jnlp'],
  ...['app', 'pkg', 'command', 'terminal', 'workflow', 'scpt', 'webloc', 'fileloc'],
  ...['sh', 'bash', 'zsh', 'run', 'desktop', 'appimage', 'deb', 'rpm', 'flatpakref'],
  ...['py', 'pyw', 'pl', 'rb'],
]);

/** True where a user should be asked before the file is opened. */
export function isProgram(fileName: string): boolean {
  // Windows ignores dots and blanks at the end.
  const name = fileName.replace(/[. ]+$/, '').toLowerCase();
  const dot = name.lastIndexOf('.');
  return dot >= 0 && PROGRAMS.has(name.slice(dot + 1));
}
