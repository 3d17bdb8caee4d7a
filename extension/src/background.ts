/**
 * The extension's background: a service worker in Chromium, an event page in Firefox. The browser
 * may end it at any time and starts it again with the next event, so all listeners are added before
 * the script awaits anything.
 */

import { Activity } from './background/activity.ts';
import { type AskedLink, addLinks } from './background/adding.ts';
import { ALARM, AlarmClock } from './background/alarm-clock.ts';
import { PageAnswers } from './background/answers.ts';
import { AskerFields } from './background/asker-fields.ts';
import { tellOfMissed } from './background/earlier-downloads.ts';
import { EdgeCheck } from './background/edge-check.ts';
import { Interceptor } from './background/interceptor.ts';
import { KeptSettings } from './background/kept-settings.ts';
import { KeptUnfinished } from './background/kept-unfinished.ts';
import { LastShown } from './background/last-shown.ts';
import { Menus } from './background/menus.ts';
import { Notifier } from './background/notifier.ts';
import { RemoteDaemon } from './background/remote-daemon.ts';
import { SeenRequests } from './background/seen-requests.ts';
import { Skipping } from './background/skipping.ts';
import { StaleEntries } from './background/stale-entries.ts';
import { Takers } from './background/takers.ts';
import { api, isFirefox } from './browser/api.ts';
import { BrowserDownloads } from './browser/downloads.ts';
import { HandOffStore } from './browser/hand-off-store.ts';
import { BrowserTaker } from './engine/link/taker.ts';
import { HandOffs } from './hand-off/hand-offs.ts';
import { DesktopTaker } from './takers/desktop.ts';
import { KeptPairing } from './takers/kept-pairing.ts';
import { RemoteTaker } from './takers/remote.ts';
import type { Fetch } from './takers/remote-link.ts';

const settings = new KeptSettings(api.storage, () => void activity.show().catch(() => {}));
const notifier = new Notifier(api, () => settings.now.notifications);
const seen = new SeenRequests(api);
const skipping = new Skipping(api.storage.session);
const check = new EdgeCheck(api.webRequest, (url, init) => fetch(url, init));
const asker = new AskerFields(api.cookies, navigator);

const desktop = new DesktopTaker({
  connect: (name) => api.runtime.connectNative(name),
  lastError: () => api.runtime.lastError?.message,
  browser: isFirefox ? 'firefox' : 'chromium',
});
const engine = new BrowserTaker(api);
const send: Fetch = (url, init) => fetch(url, init);
const pairing = new KeptPairing(api.storage.local);
const remote = new RemoteTaker({ fetch: send, pairing: pairing.read });
const takers = new Takers(desktop, engine, remote);

const stale = new StaleEntries(api);
const clock = new AlarmClock(api.alarms, () => handOffs.tick());
const handOffs = new HandOffs({
  browser: new BrowserDownloads(api.downloads),
  takers,
  store: new HandOffStore(api.storage),
  clock,
  onOver: ({ download }, taken) => {
    if (taken) void stale.add(download).catch(() => {});
    activity.changed();
  },
});
const ready = handOffs.restart();
api.alarms.onAlarm.addListener(({ name }) => {
  if (name === ALARM) void ready.then(() => handOffs.tick());
});
// The app needs a second or two to start. A first download that had to wait for that would often be
// complete before, and then stay the browser's.
api.runtime.onInstalled.addListener(() => void startApp().catch(() => {}));

tellOfMissed(api, settings, (count) =>
  notifier.tell('notifyMissedTitle', notifier.text('notifyMissed', String(count))),
);

async function startApp(): Promise<void> {
  await settings.ready;
  if (settings.now.taker === 'browser' || settings.now.taker === 'remote') return;
  await desktop.start();
  activity.changed();
}

// Without this listener, the browser would not start the background when it starts itself.
api.runtime.onStartup.addListener(() => {});

const unfinished = new KeptUnfinished(api.storage);
const activity = new Activity({
  api,
  takers,
  onListed: (downloads, kinds) => void unfinished.note(downloads, kinds),
  isBusy: () => handOffs.downloads.length > 0,
  isOn: () => settings.now.on,
  isRemote: () => settings.now.taker === 'remote',
  onEnded: ({ status, name, error }) => {
    if (status === 'complete') notifier.tell('notifyCompleteTitle', name);
    else notifier.tell('notifyFailedTitle', `${name}\n${error?.message ?? ''}`.trim());
  },
});

async function add(links: readonly AskedLink[]): Promise<{ added: number; failed: number }> {
  const outcome = await addLinks({ api, takers, settings, asker, seen, check }, links);
  activity.changed();
  return outcome;
}

const shown = new LastShown({
  takers,
  storage: api.storage.session,
  onLate: () => activity.changed(),
  now: Date.now,
});
const asksAboutInsecure = !isFirefox;
new Interceptor(api, {
  asksAboutInsecure,
  handOffs,
  settings,
  skipping,
  seen,
  check,
  asker,
  unfinished,
  ready,
});
const daemon = new RemoteDaemon({
  fetch: send,
  kept: pairing,
  taker: remote,
  settings,
  agent: navigator.userAgent,
});
new PageAnswers({ api, takers, settings, skipping, activity, shown, add, daemon, pairing });
new Menus({
  api,
  add: async (links) => {
    const { added, failed } = await add(links).catch(() => ({ added: 0, failed: links.length }));
    if (added > 0) notifier.tell('notifyAddedTitle', notifier.text('notifyAdded', String(added)));
    if (failed > 0) notifier.tell('notifyNotAddedTitle', links[0]?.url ?? '');
  },
  onNothing: () => notifier.tell('notifyNotAddedTitle', notifier.text('noLinks')),
});
void engine.start().catch(() => {});
