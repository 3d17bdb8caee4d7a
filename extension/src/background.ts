/** The extension's background: a service worker in Chromium, an event page in Firefox. */

import { api } from './browser/api.ts';

api.runtime.onInstalled.addListener(() => {});
