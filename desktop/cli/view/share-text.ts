/** The list of files that were sent, as text. */

import { formatBytes } from '@millrace/shared/base/units';
import type { ShareView } from '@millrace/shared/bridge/rpc/share-api';
import { counted } from '../text/counted.ts';
import { printable } from '../text/printable.ts';
import { shortIdChars } from './download-words.ts';

/**
 * Returns lines for each file: what it is, and its link or what is wrong. Of an invitation there are
 * two links: that of the guest, and that of the file.
 */
export function shareLines(shares: readonly ShareView[]): string[] {
  if (shares.length === 0) return ['Nothing was sent.'];
  const chars = shortIdChars(shares.map(({ id }) => id));
  return shares.flatMap((share) => {
    const { id, bytes, encrypted, link, expires, trouble, guestFile } = share;
    const end = expires === undefined ? '' : `  until ${new Date(expires).toISOString()}`;
    const second = trouble?.message ?? link;
    const sealed = encrypted ? '  encrypted' : '';
    const name = share.invitation === true ? 'a file from a guest' : share.name;
    const size = `${share.invitation === true ? 'up to ' : ''}${formatBytes(bytes)}`;
    const short = id.slice(0, chars);
    const lines = [`${short}  ${name}  ${size}  ${stateText(share)}${end}${sealed}`];
    if (second !== undefined) lines.push(`  ${second}`);
    if (guestFile !== undefined) lines.push(`  file  ${guestFile}`);
    return lines.map(printable);
  });
}

function stateText({ state, sentBytes, totalBytes, invitation, copies }: ShareView): string {
  if (state === 'shared' && invitation === true) return 'invited';
  if (state !== 'sending' && state !== 'paused') return state;
  const percent = totalBytes === 0 ? 0 : Math.floor((100 * sentBytes) / totalBytes);
  const of = copies && counted(copies.wanted, 'copy', 'copies');
  const whole = copies === undefined ? '' : `, ${copies.stored} of ${of} stored`;
  return `${state}, ${percent}%${whole}`;
}
