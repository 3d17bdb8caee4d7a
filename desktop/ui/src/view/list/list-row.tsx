/** One download in the list. */

import type { DownloadView } from '@millrace/shared/bridge/rpc/daemon-api';
import { IconButton } from '@millrace/shared/ui/icon-button';
import { Icon } from '@millrace/shared/ui/icons';
import { RowIcon } from '@millrace/shared/ui/row-signs';
import { type CSSProperties, memo } from 'react';
import { canPause, canResume, canRetry, remedyOf, shareOf } from '../../model/failure.ts';
import { bytes, duration, hostOf, rate } from '../../text/format.ts';
import type { Text } from '../../text/text.ts';
import { useActions, useRow, useText } from '../common/context.tsx';
import { useNow } from '../common/now.ts';
import { Progress } from '../common/progress.tsx';
import { stateWord, stateWords, toneOf } from '../common/state-words.ts';

interface RowProps {
  readonly gid: string | undefined;
  readonly index: number;
  readonly top: number;
  readonly selected: boolean;
  readonly focused: boolean;
}

export const ListRow = memo(function ListRow({ gid, index, top, selected, focused }: RowProps) {
  const row = useRow(gid);
  const style: CSSProperties = { transform: `translateY(${top}px)` };
  if (row === undefined) {
    return (
      <div className="row blank" role="row" aria-rowindex={index + 2} style={style}>
        <span role="gridcell" />
      </div>
    );
  }
  const tone = toneOf(row);
  const state = `row ${tone}${selected ? ' selected' : ''}${focused ? ' focused' : ''}`;
  return (
    <div
      id={`row-${row.gid}`}
      className={state}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={selected}
      data-gid={row.gid}
      data-status={row.status}
      style={style}
    >
      <RowIcon tone={tone} />
      <NameCell row={row} />
      <Figures row={row} />
    </div>
  );
});

function NameCell({ row }: { row: DownloadView }) {
  const text = useText();
  return (
    <div className="row-name" role="gridcell">
      <div className="cut name" title={row.name}>
        {row.name}
      </div>
      <div className="cut meta">
        <Meta row={row} text={text} />
      </div>
    </div>
  );
}

function Meta({ row, text }: { row: DownloadView; text: Text }) {
  const now = useNow(row.status === 'waiting' ? 1000 : 30_000);
  if (row.status === 'error' && row.error !== undefined) {
    return <span className="bad">{text.error(row.error).title}</span>;
  }
  const parts = [stateWords(text, row, now)];
  if (row.status === 'waiting' && row.error !== undefined) parts.push(text.error(row.error).title);
  parts.push(hostOf(row.urls[0] ?? ''));
  if (row.status === 'active' && row.connections > 0) {
    parts.push(text.n('state.connections', row.connections));
  }
  return (
    <>
      {row.vouch !== undefined && (
        <span className="signed-badge">
          <Icon name="signed" size={12} />
          {text.t('details.signed', { by: row.vouch.by })}
          {' · '}
        </span>
      )}
      {parts.join(' · ')}
    </>
  );
}

function Figures({ row }: { row: DownloadView }) {
  const text = useText();
  const share = shareOf(row);
  if (row.status === 'error') {
    return (
      <>
        <span className="row-help" role="gridcell">
          <Remedies row={row} />
        </span>
        <RowActions row={row} />
      </>
    );
  }
  const active = row.status === 'active';
  return (
    <>
      <span className="row-size figures" role="gridcell">
        {row.length === undefined
          ? row.storedBytes > 0 && bytes(text, row.storedBytes)
          : bytes(text, row.length)}
      </span>
      <span className="row-progress" role="gridcell">
        {hasBar(row) && <Progress row={row} share={share} />}
      </span>
      <span className="row-speed figures" role="gridcell">
        {active && row.bytesPerSecond > 0 && rate(text, row.bytesPerSecond)}
      </span>
      <span className="row-eta figures" role="gridcell">
        <Eta row={row} />
      </span>
      <RowActions row={row} />
    </>
  );
}

/**
 * Returns true where a bar is useful: a complete download has a sign, and one that has not begun
 * has no progress.
 */
function hasBar({ status, storedBytes }: DownloadView): boolean {
  return status !== 'complete' && (status === 'active' || storedBytes > 0);
}

function Eta({ row }: { row: DownloadView }) {
  const text = useText();
  const now = useNow(30_000);
  if (row.status === 'active') return row.etaMs === undefined ? null : duration(row.etaMs);
  return <span className="only-compact">{stateWord(text, row, now)}</span>;
}

function Remedies({ row }: { row: DownloadView }) {
  const text = useText();
  const actions = useActions();
  const remedy = remedyOf(row);
  const labels = {
    retry: text.t('action.retry'),
    newLink: text.t('action.newLink'),
    change: text.t('action.change'),
    edges: text.t('action.edges'),
    proxy: text.t('action.proxy'),
  };
  return (
    <>
      {remedy !== 'retry' && (
        <button
          type="button"
          tabIndex={-1}
          className="button small"
          onClick={() => actions.remedy(row.gid, remedy)}
        >
          {labels[remedy]}
        </button>
      )}
      <button
        type="button"
        tabIndex={-1}
        className="button small"
        onClick={() => actions.remedy(row.gid, 'retry')}
      >
        {labels.retry}
      </button>
    </>
  );
}

function RowActions({ row }: { row: DownloadView }) {
  const text = useText();
  const actions = useActions();
  const { gid } = row;
  const done = row.status === 'complete';
  const icon = (name: 'paused' | 'resume' | 'remove' | 'clear', label: string, run: () => void) => (
    <IconButton name={name} label={label} of={row.name} tabIndex={-1} onClick={run} />
  );
  return (
    <span className="row-actions" role="gridcell">
      {canPause(row) && icon('paused', text.t('action.pause'), () => void actions.pause([gid]))}
      {canResume(row) && icon('resume', text.t('action.resume'), () => void actions.resume([gid]))}
      {row.status === 'removed' &&
        canRetry(row) &&
        icon('resume', text.t('action.retry'), () => void actions.retry([gid]))}
      {icon(
        done ? 'clear' : 'remove',
        done ? text.t('action.takeOff') : text.t('action.remove'),
        () => void actions.remove([gid]),
      )}
    </span>
  );
}
