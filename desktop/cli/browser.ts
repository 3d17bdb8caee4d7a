/** The user's browser. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** The system's way to open an address; undefined: there is nothing to show it on. */
export function browserCommand(
  platform: NodeJS.Platform,
  env: NodeJS.ProcessEnv,
): readonly string[] | undefined {
  if (platform === 'darwin') return ['open'];
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler'];
  const screen = env.DISPLAY || env.WAYLAND_DISPLAY;
  return screen === undefined || screen === '' ? undefined : ['xdg-open'];
}

/** @returns false if there is no browser that could be asked */
export async function openInBrowser(url: string): Promise<boolean> {
  const [program, ...args] = browserCommand(process.platform, process.env) ?? [];
  if (program === undefined) return false;
  const child = spawn(program, [...args, url], { detached: true, stdio: 'ignore' });
  try {
    await once(child, 'spawn');
  } catch {
    return false; // it is not installed
  }
  child.unref();
  return true;
}
