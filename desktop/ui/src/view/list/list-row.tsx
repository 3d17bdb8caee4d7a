/** One download in the list. */

import type { DownloadView } from '@millrace/shared/bridge/rpc/daemon-api';
import type { AppSettings } from '@millrace/shared/bridge/rpc/settings-api';
import { IconButton } from '@millrace/shared/ui/icon-button';
import { Icon, type IconName } from '@millrace/shared/ui/icons';
import { Bar, RowIcon } from '@millrace/shared/ui/row-signs';
import { type CSSProperties, memo, type ReactNode } from 'react';
import type { Column, ColumnName } from '../../model/columns/columns.ts';
import { canPause, canResume, canRetry, hasFile, remedyOf, shareOf } from '../../model/failure.ts';
import { shell } from '../../model/shell.ts';
import { bytes, duration, hostOf, percent, rate, when } from '../../text/format.ts';
import type { Text } from '../../text/text.ts';
import { typeIcon } from '../common/category-name.ts';
import { useActions, useRow, useText } from '../common/context.tsx';
import { useNow } from '../common/now.ts';
import { Progress } from '../common/progress.tsx';
import { stateWord, stateWords, toneOf } from '../common/state-words.ts';

/** Properties that all rows of the list have in common: a subscription for each would cost every row. */
interface RowLook {
  readonly columns: readonly Column[];
  readonly categories: AppSettings['categories'] | undefined;
  /** True: rows are low, and their bar is in its column. */
  readonly isCompact: boolean;
}

interface RowProps {
  readonly gid: string | undefined;
  readonly index: number;
  readonly top: number;
  readonly look: RowLook;
  readonly selected: boolean;
  readonly focused: boolean;
}

export const ListRow = memo(function ListRow(props: RowProps) {
  const { gid, index, top, look, selected, focused } = props;
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
  const marks = `${selected ? ' selected' : ''}${focused ? ' focused' : ''}`;
  const state = `row ${tone}${hasOwnBar(row, look) ? ' barred' : ''}${marks}`;
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
      <NameCell row={row} look={look} />
      <Figures row={row} look={look} />
    </div>
  );
});

interface PartProps {
  readonly row: DownloadView;
  readonly look: RowLook;
}

function NameCell({ row, look }: PartProps) {
  const text = useText();
  return (
    <div className="row-name" role="gridcell">
      <div className="name-line">
        <Icon name={typeIcon(row, look.categories)} size={14} />
        <div className="cut name" title={row.name}>
          {row.name}
        </div>
      </div>
      <div className="cut meta">
        <Meta row={row} text={text} />
      </div>
      {hasOwnBar(row, look) && (
        <div className="name-bar">
          <Bar share={shareOf(row)} tone={toneOf(row)} isRunning={row.status === 'active'} />
        </div>
      )}
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
  const connections = row.status === 'active' ? row.connections : 0;
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
      {connections > 0 && (
        <span className="row-connections"> · {text.n('state.connections', connections)}</span>
      )}
    </>
  );
}

function Figures({ row, look }: PartProps) {
  const { columns, isCompact } = look;
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
  return (
    <>
      {columns.map(({ name }) => (
        <span key={name} className={`row-${name} figures`} role="gridcell">
          <Figure row={row} column={name} isCompact={isCompact} />
        </span>
      ))}
      {columns.length === 0 && <ShortFigures row={row} />}
      <RowActions row={row} />
    </>
  );
}

interface FigureProps {
  readonly row: DownloadView;
  readonly column: ColumnName;
  readonly isCompact: boolean;
}

function Figure({ row, column, isCompact }: FigureProps): ReactNode {
  const text = useText();
  const share = shareOf(row);
  const active = row.status === 'active';
  switch (column) {
    case 'size':
      if (row.length !== undefined) return bytes(text, row.length);
      return row.storedBytes > 0 && bytes(text, row.storedBytes);
    case 'progress':
      if (isCompact) return hasBar(row) && <Progress row={row} share={share} />;
      return hasBar(row) && share !== undefined && percent(text, share);
    case 'speed':
      return active && row.bytesPerSecond > 0 && rate(text, row.bytesPerSecond);
    case 'eta':
      return <Eta row={row} />;
    case 'host':
      return <span className="cut">{hostOf(row.urls[0] ?? '')}</span>;
    case 'added':
      return <Moment at={row.createdAt} />;
    case 'finished':
      return row.finishedAt !== undefined && <Moment at={row.finishedAt} />;
  }
}

function Moment({ at }: { at: number }) {
  const text = useText();
  return <span className="cut">{when(text, at, useNow(30_000))}</span>;
}

/** Shows speed and time left below each other, where there is no room for columns. */
function ShortFigures({ row }: { row: DownloadView }) {
  const text = useText();
  const share = shareOf(row);
  if (row.status !== 'active') {
    return (
      <span className="row-short figures" role="gridcell">
        {row.status === 'complete'
          ? row.length !== undefined && bytes(text, row.length)
          : hasBar(row) && share !== undefined && percent(text, share)}
      </span>
    );
  }
  return (
    <span className="row-short figures" role="gridcell">
      <span>{row.bytesPerSecond > 0 && rate(text, row.bytesPerSecond)}</span>
      <span className="quiet">
        {share !== undefined && percent(text, share)}
        {row.etaMs !== undefined && ` · ${duration(row.etaMs)}`}
      </span>
    </span>
  );
}

/**
 * Returns true where a bar is useful: a complete download has a sign, and one that has not begun
 * has no progress.
 */
function hasBar({ status, storedBytes }: DownloadView): boolean {
  return status !== 'complete' && (status === 'active' || storedBytes > 0);
}

/** Returns true where the bar is below the name, not in its column. */
function hasOwnBar(row: DownloadView, { isCompact, columns }: RowLook): boolean {
  return hasBar(row) && !(isCompact && columns.length > 0);
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
  const icon = (name: IconName, label: string, run: () => void) => (
    <IconButton name={name} label={label} of={row.name} tabIndex={-1} onClick={run} />
  );
  return (
    <span className="row-actions" role="gridcell">
      {canPause(row) && icon('paused', text.t('action.pause'), () => void actions.pause([gid]))}
      {canResume(row) && icon('resume', text.t('action.resume'), () => void actions.resume([gid]))}
      {row.status === 'removed' &&
        canRetry(row) &&
        icon('resume', text.t('action.retry'), () => void actions.retry([gid]))}
      {hasFile(row) && shell !== undefined && (
        <>
          {icon('file', text.t('action.openFile'), () => void actions.openFile(gid))}
          {icon('folder', text.t('action.showInFolder'), () => void actions.showInFolder(gid))}
        </>
      )}
      {icon(
        done ? 'clear' : 'remove',
        done ? text.t('action.takeOff') : text.t('action.remove'),
        () => void actions.remove([gid]),
      )}
    </span>
  );
}
