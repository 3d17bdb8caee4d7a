/** The rules for an origin in plain words, for its publisher. */

import { formatBytes, formatRate } from '@millrace/shared/base/units';
import type { IgnoredQuery } from '@millrace/shared/http/urls/ignored-query';
import type { OriginRule } from '../policy/origin-rules.ts';
import { spanWords } from './finding-words.ts';

/** Makes a sentence for each rule that is set. */
export function ruleWords(rule: OriginRule): string[] {
  const { contentTypes, refuseContentTypes, maxFileSize, ignoreNoCache, passAnswers } = rule;
  const { quota, transfers, rate, ignoreQuery, passLabels, cors } = rule;
  const words: string[] = [];
  if (contentTypes !== undefined)
    words.push(`Only files of these types: ${contentTypes.join(', ')}.`);
  if (refuseContentTypes !== undefined && refuseContentTypes.length > 0) {
    words.push(`No files of these types: ${refuseContentTypes.join(', ')}.`);
  }
  if (maxFileSize !== undefined) words.push(`Files of at most ${formatBytes(maxFileSize)}.`);
  if (quota !== undefined) {
    const span = spanWords(quota.per / 1000);
    words.push(`At most ${formatBytes(quota.bytes)} to all clients together in ${span}.`);
  }
  if (transfers !== undefined)
    words.push(`At most ${transfers} ${transfers === 1 ? 'transfer' : 'transfers'} at a time.`);
  if (rate !== undefined) words.push(`At most ${formatRate(rate)} for all transfers together.`);
  if (ignoreNoCache === true) {
    words.push(
      'Only the origin decides when to look for a new version: a no-cache of clients is ignored.',
    );
  }
  const { fresh, staleWhileRevalidate, staleIfError, dropFields = [], addFields = {} } = rule;
  if (fresh !== undefined) {
    words.push(
      `Files count as current for ${spanWords(fresh / 1000)}, if their origin lets caches keep them.`,
    );
  }
  if (staleWhileRevalidate !== undefined) {
    const span = spanWords(staleWhileRevalidate / 1000);
    words.push(`For ${span} after that, clients get them at once, while the origin is asked.`);
  }
  if (staleIfError !== undefined) {
    const span = spanWords(staleIfError / 1000);
    words.push(`For ${span} after that, clients get them while the origin fails.`);
  }
  const { immutable = [], sameForAll, redirectFields = [], edgeLinks = [] } = rule;
  if (immutable.length > 0) {
    words.push(`Files with these parts of paths never change: ${immutable.join(', ')}.`);
  }
  if (sameForAll === true) {
    words.push(
      'Files are the same for all: cookies of the origin keep none of them from being kept.',
    );
  }
  if (redirectFields.length > 0) {
    words.push(`Clients get these fields of redirects: ${redirectFields.join(', ')}.`);
  }
  if (edgeLinks.length > 0) {
    words.push(`Links of pages to these hosts lead through this edge: ${edgeLinks.join(', ')}.`);
  }
  if (dropFields.length > 0)
    words.push(`Clients do not get these fields: ${dropFields.join(', ')}.`);
  if (passLabels === true) words.push('Clients get the labels of files.');
  const added = Object.keys(addFields);
  if (added.length > 0) words.push(`The edge sets these fields: ${added.join(', ')}.`);
  if (passAnswers === true) {
    words.push('Where the origin has no file, clients get its own answer, such as its error page.');
  }
  if (ignoreQuery !== undefined) words.push(queryWords(ignoreQuery));
  if (cors !== undefined) {
    const who = cors.origins === '*' ? 'all sites' : cors.origins.join(', ');
    words.push(`Pages of ${who} may read files, whatever their origin says about other sites.`);
  }
  return words;
}

function queryWords(ignored: IgnoredQuery): string {
  const same = 'links that differ only in them lead to one file, which is fetched without them';
  if (ignored === 'all') return `All query parameters are ignored: ${same}.`;
  return 'names' in ignored
    ? `These query parameters are ignored: ${ignored.names.join(', ')}; ${same}.`
    : `All query parameters but these are ignored: ${ignored.allBut.join(', ')}; ${same}.`;
}
