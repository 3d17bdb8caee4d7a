/** Adds downloads that the browser has not started. */

import type { BrowserApi } from '../browser/api.ts';
import { type AddedLink, TakerError } from '../contract/taker.ts';
import { hostOf } from '../intercept/hosts.ts';
import type { AskerFields } from './asker-fields.ts';
import { chosenEdges } from './chosen-edges.ts';
import type { EdgeCheck } from './edge-check.ts';
import { takersOf } from './interceptor.ts';
import type { KeptSettings } from './kept-settings.ts';
import type { SeenRequests } from './seen-requests.ts';
import type { Takers } from './takers.ts';

/** Most links at a time that the browser itself downloads if no taker is available. */
const MAX_BY_BROWSER = 20;

export interface AddingParts {
  readonly api: BrowserApi;
  readonly takers: Takers;
  readonly settings: KeptSettings;
  readonly asker: AskerFields;
  readonly seen: SeenRequests;
  readonly check: EdgeCheck;
}

export interface AskedLink {
  readonly url: string;
  /** URL of the page that contains the link. */
  readonly referrer?: string | undefined;
}

/**
 * Adds downloads of links.
 *
 * @returns the numbers of links that are and are not being downloaded now
 */
export async function addLinks(
  parts: AddingParts,
  asked: readonly AskedLink[],
): Promise<{ added: number; failed: number }> {
  const { settings, takers, api } = parts;
  await settings.ready;
  const possible = asked.filter(({ url }) => hostOf(url) !== undefined);
  const links = await Promise.all(possible.map((link) => completed(parts, link)));
  let added = 0;
  try {
    if (links.length > 0) added = await takers.add(takersOf(settings.now), links);
  } catch (error) {
    // Another machine whose answer was lost may have them all: they are not downloaded twice.
    const isDoubtful = settings.now.taker === 'remote' && isLost(error);
    if (links.length > MAX_BY_BROWSER || isDoubtful) throw error;
    // No taker is available: the browser downloads the links, and asks the user about each.
    const begun = links.map(({ url }) => api.downloads.download({ url }));
    const ends = await Promise.allSettled(begun);
    added = ends.filter(({ status }) => status === 'fulfilled').length;
  }
  return { added, failed: asked.length - added };
}

const isLost = (error: unknown) => error instanceof TakerError && error.problem === 'lost';

async function completed(
  { settings, asker, seen, check }: AddingParts,
  { url: given, referrer }: AskedLink,
): Promise<AddedLink> {
  const url = given.replace(/#.*$/s, '');
  const headers = await asker.of(url, referrer);
  const requests = [{ url, headers }];
  const chosen = await chosenEdges({ seen, check }, url, requests, settings.now);
  return { url, headers, ...chosen };
}
