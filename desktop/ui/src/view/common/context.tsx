/** Things that every part of the interface may use: the app, its actions, its words, its state. */

import type { DownloadView } from '@millrace/shared/bridge/rpc/daemon-api';
import {
  createContext,
  type ReactNode,
  useCallback,
  useContext,
  useSyncExternalStore,
} from 'react';
import type { Actions } from '../../model/actions.ts';
import type { App } from '../../model/app.ts';
import type { AppState } from '../../model/app-state.ts';
import type { Text } from '../../text/text.ts';

export interface Shared {
  readonly app: App;
  readonly actions: Actions;
}

const SharedContext = createContext<Shared | undefined>(undefined);
const TextContext = createContext<Text | undefined>(undefined);

export function Provider({ shared, children }: { shared: Shared; children: ReactNode }) {
  const { app } = shared;
  // The language is a setting: words change with the settings.
  const text = useSyncExternalStore(app.store.subscribe, () => app.text);
  return (
    <SharedContext.Provider value={shared}>
      <TextContext.Provider value={text}>{children}</TextContext.Provider>
    </SharedContext.Provider>
  );
}

function needed<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('outside of Provider');
  return value;
}

export const useApp = () => needed(useContext(SharedContext)).app;
export const useActions = () => needed(useContext(SharedContext)).actions;
export const useText = () => needed(useContext(TextContext));

/** Returns a part of the state. @param pick must return the same object until it changes */
export function useAppState<T>(pick: (state: AppState) => T): T {
  const { store } = useApp();
  return useSyncExternalStore(store.subscribe, () => pick(store.get()));
}

/** Returns one row of the list, and follows its changes. */
export function useRow(gid: string | undefined): DownloadView | undefined {
  const { rows } = useApp();
  const subscribe = useCallback(
    (listener: () => void) => (gid === undefined ? () => {} : rows.subscribe(gid, listener)),
    [rows, gid],
  );
  return useSyncExternalStore(subscribe, () => (gid === undefined ? undefined : rows.get(gid)));
}
