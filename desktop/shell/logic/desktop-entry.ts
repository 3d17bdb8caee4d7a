/** Starting at login where the system has no call for it: a file by the XDG autostart convention. */

/**
 * Text of the `.desktop` file (Desktop Entry Specification 1.5).
 *
 * @param command program and arguments
 */
export function autostartEntry(command: readonly string[]): string {
  return [
    '[Desktop Entry]',
    'Type=Application',
    'Name=Millrace',
    'Comment=Downloads large files',
    `Exec=${command.map(quoted).join(' ')}`,
    'Terminal=false',
    'X-GNOME-Autostart-enabled=true',
    '',
  ].join('\n');
}

/** An argument of Exec: quoted, its special characters escaped, and once more as a string value. */
function quoted(argument: string): string {
  if (/[\n\r\0]/.test(argument)) throw new TypeError('a path with a line break cannot be written');
  const escaped = argument.replace(/["`$\\]/g, '\\$&').replace(/%/g, '%%');
  return `"${escaped.replace(/\\/g, '\\\\')}"`;
}
