/** Name, state and colour of a file that was sent, or of an invitation. */

import type { ShareView } from '@millrace/shared/bridge/rpc/share-api';
import type { Tone } from '@millrace/shared/ui/row-signs';
import { dateTime, hostOf } from '../../text/format.ts';
import type { Text } from '../../text/text.ts';

/** Returns the name to show; a guest's file has none of its own. */
export function shareName(text: Text, { name, invitation, places }: ShareView): string {
  const [place] = places;
  if (invitation !== true) return name;
  return text.t('share.invitation', { depot: place === undefined ? '' : hostOf(place.depot) });
}

export function stateOf(
  text: Text,
  { state, changing, revokeAt = 0, invitation }: ShareView,
  now: number,
): { readonly word: string; readonly tone: Tone } {
  if (changing !== undefined) return { word: text.t(`share.changing.${changing}`), tone: 'active' };
  const tone = TONES[state];
  if (state === 'revoke-failed') {
    return { word: text.t('share.state.revoke-failed', { when: dateTime(text, revokeAt) }), tone };
  }
  if (state === 'shared' && invitation === true)
    return { word: text.t('share.state.invited'), tone };
  if (state !== 'revoking') return { word: text.t(`share.state.${state}`), tone };
  const seconds = Math.max(0, Math.ceil((revokeAt - now) / 1000));
  return { word: text.t('share.state.revoking', { n: text.number(seconds) }), tone };
}

const TONES: Readonly<Record<ShareView['state'], Tone>> = {
  waiting: 'queued',
  sending: 'active',
  paused: 'paused',
  failed: 'failed',
  shared: 'done',
  expired: 'queued',
  revoking: 'queued',
  'revoke-failed': 'failed',
  revoked: 'queued',
};
