/**
 * Starts the app at login where the system has no call for it: by a file of the XDG autostart
 * convention.
 */

/**
 * Returns the text of the `.desktop` file (Desktop Entry Specification 1.5).
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

/**
 * Quotes an argument of Exec: escapes its special characters, then escapes it as a string value.
 */
function quoted(argument: string): string {
  if (/[\n\r\0]/.test(argument)) throw new TypeError('a path with a line break cannot be written');
  const escaped = argument.replace(/["`$\\]/g, '\\$&').replace(/%/g, '%%');
  return `"${escaped.replace(/\\/g, '\\\\')}"`;
}
