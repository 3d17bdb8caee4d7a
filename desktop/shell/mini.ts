/** The mini window of the app: where it was, and which page it shows. */

import type { MemoryFile } from './daemon/memory-file.ts';
import { MiniWindow } from './electron/mini-window.ts';
import { ICON, SHELL_FILES } from './files.ts';
import { miniAddress } from './logic/page-url.ts';

/**
 * Makes the mini window, which opens when it is asked for.
 *
 * @param page returns the address of the daemon's page, with a log-in if one is needed
 */
export function makeMini(memory: MemoryFile, page: () => Promise<string | undefined>): MiniWindow {
  return new MiniWindow({
    files: SHELL_FILES,
    icon: ICON,
    bounds: () => memory.value.miniBounds,
    onBounds: (miniBounds) => memory.change({ miniBounds }),
    address: async () => {
      const address = await page();
      return address === undefined ? undefined : miniAddress(address);
    },
  });
}
