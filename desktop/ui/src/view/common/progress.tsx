/** Shows the stored share of a download as a bar. */

import type { DownloadView } from '@millrace/shared/bridge/rpc/daemon-api';
import { Bar } from '@millrace/shared/ui/row-signs';
import { percent } from '../../text/format.ts';
import { useText } from './context.tsx';
import { toneOf } from './state-words.ts';

export function Progress({ row, share }: { row: DownloadView; share: number | undefined }) {
  const text = useText();
  return (
    <>
      {share !== undefined && <span className="percent figures">{percent(text, share)}</span>}
      <Bar share={share} tone={toneOf(row)} isRunning={row.status === 'active'} />
    </>
  );
}
