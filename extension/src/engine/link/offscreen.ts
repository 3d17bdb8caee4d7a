/**
 * Chromium's service workers cannot start workers: this document starts the engine's worker, and
 * relays messages between it and the background. It closes itself when no work is left.
 */

import { api } from '../../browser/api.ts';
import { ENGINE_CALLS, ENGINE_PORT } from '../../contract/engine-port.ts';
import type { EngineMessage } from '../../contract/protocol.ts';

const worker = new Worker('engine-worker.js', { type: 'module' });
let port: chrome.runtime.Port | undefined;

api.runtime.onConnect.addListener((opened) => {
  const { sender, name } = opened;
  // Content scripts can connect from pages too.
  const ours = sender?.id === api.runtime.id && sender.tab === undefined;
  if (name !== ENGINE_PORT || !ours) return;
  port = opened;
  opened.onMessage.addListener((message) => worker.postMessage(message));
  opened.onDisconnect.addListener(() => {
    if (port === opened) port = undefined;
  });
});

worker.addEventListener('message', ({ data }: MessageEvent<EngineMessage>) => {
  if ('event' in data && data.event === 'idle') return window.close();
  if (port !== undefined) return port.postMessage(data);
  // The service worker sleeps. Wake it up: the engine repeats its orders when it connects.
  if ('event' in data && data.event === 'save') {
    void Promise.resolve(api.runtime.sendMessage(ENGINE_CALLS)).catch(() => {});
  }
});
