/** Methods for what happens after downloads. */

import { AFTER_ROWS } from '@millrace/shared/bridge/contract/after-rows';
import type { Manager } from '../../downloads/manager.ts';
import { changedAfter } from '../../settings/after-settings.ts';
import type { Method } from '../calls/dispatcher.ts';
import { methodsOf } from './params.ts';

export function afterMethods(manager: Manager): [string, Method][] {
  const { settings } = manager;
  const shown = () => {
    const { rules, commands, webhook } = settings.after;
    // Without its secret.
    return { rules, commands, webhook: webhook === undefined ? null : { url: webhook.url } };
  };
  return methodsOf(AFTER_ROWS, {
    'millrace.getAfter': shown,
    'millrace.setAfter': (change) => {
      const categories = settings.categories.map(({ name }) => name);
      settings.after = changedAfter(settings.after, change, categories);
      manager.settingsChanged();
      return shown();
    },
    'millrace.whenDone': ({ what }) => {
      if (what !== undefined) manager.whenDone.set(what);
      return manager.whenDone.view;
    },
  });
}
