/** Recognizes files that a system may run, install or mount when it is asked to open them. */

import { harmOfName } from '../request/harmful-name.ts';

const RUN =
  /\.(?:exe|com|scr|cpl|msi|msp|msix|appx|appinstaller|bat|cmd|ps1|psm1|vbs|vbe|js|jse|wsf|wsh|hta|reg|jar|jnlp|dll|application|gadget|inf|lnk|chm|hlp|vhd|vhdx|iso|img|dmg|pkg|mpkg|app|command|workflow|terminal|scpt|applescript|sh|bash|zsh|csh|fish|run|bin|desktop|deb|rpm|appimage|flatpak|flatpakref|snap|apk|py|pyw|pl|rb|php|docm|xlsm|pptm|xll|html?|xhtml|svg)$/i;

/**
 * Returns true if opening a file of this name may run what is in it. A name without an extension is that
 * of a program on most systems.
 */
export function isRunWhenOpened(name: string): boolean {
  const plain = name.replace(/[. ]+$/, '');
  return !/[^.]\.[^.]+$/.test(plain) || RUN.test(plain) || harmOfName(plain) !== undefined;
}
