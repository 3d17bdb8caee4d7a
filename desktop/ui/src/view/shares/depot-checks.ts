/** Asks depots that are set up what they allow. */

import type { DepotCheck } from '@millrace/shared/bridge/rpc/share-api';
import { useEffect, useState } from 'react';
import { useApp } from '../common/context.tsx';

const NONE: ReadonlyMap<string, DepotCheck> = new Map();

/**
 * Asks depots once. @returns the answers so far, by URL
 *
 * @param urls base URLs
 */
export function useDepotChecks(urls: readonly string[]): ReadonlyMap<string, DepotCheck> {
  const app = useApp();
  const [checks, setChecks] = useState(NONE);
  const list = urls.join(' ');
  useEffect(() => {
    let isWanted = true;
    for (const url of list.split(' ').filter((one) => one !== '')) {
      const take = (check: DepotCheck) => {
        if (isWanted) setChecks((before) => new Map(before).set(url, check));
      };
      // Without an answer of the daemon nothing is known of the depot.
      app.call('millrace.checkDepot', { url }).then(take, () => {});
    }
    return () => {
      isWanted = false;
    };
  }, [app, list]);
  return checks;
}
