/** The list of files that were sent, as text. */

import { formatBytes } from '@millrace/shared/base/units';
import type { ShareView } from '@millrace/shared/bridge/rpc/share-api';
import { printable } from '../text/printable.ts';

/** Returns two lines for each file: what it is, and its link or what is wrong. */
export function shareLines(shares: readonly ShareView[]): string[] {
  if (shares.length === 0) return ['Nothing was sent.'];
  return shares.flatMap((share) => {
    const { name, bytes, encrypted, link, expires, trouble } = share;
    const end = expires === undefined ? '' : `  until ${new Date(expires).toISOString()}`;
    const second = trouble?.message ?? link;
    const sealed = encrypted ? '  encrypted' : '';
    const lines = [`${name}  ${formatBytes(bytes)}  ${stateText(share)}${end}${sealed}`];
    if (second !== undefined) lines.push(`  ${second}`);
    return lines.map(printable);
  });
}

function stateText({ state, sentBytes, totalBytes }: ShareView): string {
  if (state !== 'sending' && state !== 'paused') return state;
  const percent = totalBytes === 0 ? 0 : Math.floor((100 * sentBytes) / totalBytes);
  return `${state}, ${percent}%`;
}
