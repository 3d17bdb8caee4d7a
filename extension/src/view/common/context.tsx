/** Shares the background and the texts with every part of a page. */

import { createContext, type ReactNode, useContext } from 'react';
import type { Text } from '../../text/text.ts';
import type { Background } from './background.ts';

export interface Shared {
  readonly background: Background;
  readonly text: Text;
}

const SharedContext = createContext<Shared | undefined>(undefined);

export function Provider({ shared, children }: { shared: Shared; children: ReactNode }) {
  return <SharedContext.Provider value={shared}>{children}</SharedContext.Provider>;
}

function useShared(): Shared {
  const shared = useContext(SharedContext);
  if (shared === undefined) throw new Error('outside of Provider');
  return shared;
}

export const useText = () => useShared().text;
export const useBackground = () => useShared().background;
