/** How much of a download is there, as a bar. */

import type { DownloadView } from '@millrace/shared/bridge/rpc/daemon-api';
import { percent } from '../../text/format.ts';
import { useText } from './context.tsx';
import { toneOf } from './state-words.ts';

export function Progress({ row, share }: { row: DownloadView; share: number | undefined }) {
  const text = useText();
  const tone = toneOf(row);
  if (share === undefined) {
    const known = row.status === 'active' ? 'unknown' : tone;
    return <span className={`bar ${known}`}>{row.status === 'active' && <span />}</span>;
  }
  return (
    <>
      <span className="percent figures">{percent(text, share)}</span>
      <span className={`bar ${tone}`}>
        <span style={{ transform: `scaleX(${share})` }} />
      </span>
    </>
  );
}
