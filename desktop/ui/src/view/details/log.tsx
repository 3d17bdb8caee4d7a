/** Log of a download, newest entry first. */

import type { LogEntry } from '@millrace/shared/bridge/rpc/detail-api';
import { clock, clockSeconds, dateTime } from '../../text/format.ts';
import type { Key, Text } from '../../text/text.ts';
import { useText } from '../common/context.tsx';

export function Log({ entries }: { entries: readonly LogEntry[] }) {
  const text = useText();
  if (entries.length === 0) return <p className="note">{text.t('details.log.empty')}</p>;
  return (
    <ol className="log" reversed>
      {[...entries].reverse().map((entry) => (
        <li key={entry.seq} className={entry.event === 'failed' ? 'bad' : ''}>
          <time
            className="figures"
            dateTime={new Date(entry.at).toISOString()}
            title={dateTime(text, entry.at)}
          >
            {clockSeconds(text, entry.at)}
          </time>
          <span>{logWords(text, entry)}</span>
        </li>
      ))}
    </ol>
  );
}

function logWords(text: Text, entry: LogEntry): string {
  const { event, text: said, code, retryAt } = entry;
  const why = code === undefined ? (said ?? '') : text.error({ code, message: said ?? code }).title;
  switch (event) {
    case 'note':
      return text.note(entry);
    case 'phase': {
      const key = `state.${said}`;
      return key in PHASE_KEYS ? text.t(key as Key & 'state.running') : (said ?? '');
    }
    case 'started':
      return said ? text.t('log.started.from', { from: said }) : text.t('log.started');
    case 'failed':
      return text.t('log.failed', { why });
    case 'retry':
      return retryAt === undefined
        ? text.t('log.retry', { why })
        : text.t('log.retry.at', { why, time: clock(text, retryAt) });
    default:
      return text.t(`log.${event}`);
  }
}

const PHASE_KEYS = {
  'state.starting': 1,
  'state.running': 1,
  'state.waiting-for-network': 1,
  'state.waiting-for-server': 1,
  'state.waiting-for-room': 1,
  'state.checking': 1,
};
