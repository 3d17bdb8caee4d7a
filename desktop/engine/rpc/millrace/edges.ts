/** Methods for the edges that the user has set up. */

import { EDGE_ROWS } from '@millrace/shared/bridge/contract/edge-rows';
import type { Manager } from '../../downloads/manager.ts';
import { testEdge } from '../../edges/edge-test.ts';
import {
  changedEdge,
  edgeAddress,
  type KeptEdge,
  withEdge,
  withoutEdge,
} from '../../settings/kept-edges.ts';
import { edgesOf } from '../../views/app-settings.ts';
import type { Method } from '../calls/dispatcher.ts';
import { type MillraceOptions, methodsOf } from './params.ts';

export function edgeMethods({ manager, local, house }: MillraceOptions): [string, Method][] {
  const keep = (list: readonly KeptEdge[]) => {
    manager.settings.edges = list;
    manager.settingsChanged();
    return { edges: edgesOf(manager.settings, local.url) };
  };
  return methodsOf(EDGE_ROWS, {
    'millrace.addEdge': (p) => keep(withEdge(manager.settings.edges, p.url, p.name)),
    'millrace.changeEdge': (p) => keep(changedEdge(known(manager, local.url, p.url), p.url, p)),
    'millrace.removeEdge': (p) => keep(withoutEdge(manager.settings.edges, p.url)),
    'millrace.testEdge': (p) => testEdge(edgeAddress(p.url), new AbortController().signal),
    'millrace.houseEdges': () => ({ looks: house.house !== undefined, edges: house.edges }),
  });
}

/**
 * Returns the list, with the local edge added if that is the one to change, because the change has
 * to be stored.
 */
function known({ settings: { edges: list } }: Manager, local: string | undefined, text: string) {
  const url = edgeAddress(text);
  if (url !== local || list.some((edge) => edge.url === url)) return list;
  return [{ url, name: '', enabled: true }, ...list];
}
