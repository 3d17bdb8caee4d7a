/** Words and colour of the state of a file that was sent. */

import type { ShareView } from '@millrace/shared/bridge/rpc/share-api';
import type { Tone } from '@millrace/shared/ui/row-signs';
import { dateTime } from '../../text/format.ts';
import type { Text } from '../../text/text.ts';

export function stateOf(
  text: Text,
  { state, changing, revokeAt = 0 }: ShareView,
  now: number,
): { readonly word: string; readonly tone: Tone } {
  if (changing !== undefined) return { word: text.t(`share.changing.${changing}`), tone: 'active' };
  const tone = TONES[state];
  if (state === 'revoke-failed') {
    return { word: text.t('share.state.revoke-failed', { when: dateTime(text, revokeAt) }), tone };
  }
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
