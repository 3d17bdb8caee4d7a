/** Serves calls of the daemon's page in our window, and of no other page; checks their payloads. */

import { type IpcMainInvokeEvent, ipcMain, type WebContents } from 'electron';
import { mayCall } from '../logic/page-policy.ts';
import { channel, type ShellCall, type ShellCalls } from '../logic/payload-channels.ts';
import { PARSERS, SHELL_CALLS } from '../logic/payloads.ts';

export type ShellHandlers = {
  readonly [C in ShellCall]: (payload: ShellCalls[C]) => unknown;
};

/**
 * Serves the page's calls.
 *
 * @param page contents of the window; undefined without a window
 * @param origin origin of the daemon's page
 */
export function serveCalls(
  handlers: ShellHandlers,
  page: () => WebContents | undefined,
  origin: () => string | undefined,
): void {
  const serve = <C extends ShellCall>(call: C) => {
    ipcMain.handle(channel(call), (event, payload: unknown) => {
      if (event.sender !== page() || !isTrusted(event, origin())) {
        throw new Error('this page may not call');
      }
      return handlers[call](PARSERS[call](payload));
    });
  };
  for (const call of SHELL_CALLS) serve(call);
}

function isTrusted(event: IpcMainInvokeEvent, origin: string | undefined): boolean {
  // Electron before 12 reports no frame; no frame can show the daemon's page (frame-ancestors).
  const frame = event.senderFrame ?? undefined;
  if (frame === undefined) return mayCall(event.sender.getURL(), origin);
  return frame === event.sender.mainFrame && mayCall(frame.url, origin);
}
