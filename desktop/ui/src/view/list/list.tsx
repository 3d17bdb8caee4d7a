/** The list of downloads: only visible rows are mounted, and the keyboard reaches all of them. */

import {
  type CSSProperties,
  type KeyboardEvent,
  type MouseEvent,
  type RefObject,
  useEffect,
  useMemo,
  useRef,
} from 'react';
import { type Column, fitting } from '../../model/columns/columns.ts';
import { isFirstRun, SEEN_CHANGE } from '../../model/first-run.ts';
import { indexOf } from '../../model/list-window.ts';
import { targets } from '../../model/selection.ts';
import { useActions, useApp, useAppState, useText } from '../common/context.tsx';
import { useElementWidth } from '../common/element-width.ts';
import { useDragOrder } from './drag-order.ts';
import { EmptyList, FailedList, LoadingList } from './empty-list.tsx';
import { ListHead } from './list-head.tsx';
import { ListMenu } from './list-menu.tsx';
import { ListRows } from './list-rows.tsx';
import { figuresPx, gridColumns, useColumns } from './use-columns.ts';

const ROW_PX = { comfortable: 56, compact: 34 } as const;
/** Widths of the list, pixels, below which columns give way to the name. */
const WIDE_PX = 760;
const HEAD_PX = 30;
const MEDIUM_PX = 560;
/** Width of the actions, where they have a column. */
const ACTIONS_PX = 88;
/** Width of icon, edges and gaps, beside name and columns. */
const BESIDES_PX = 84;

export function DownloadList() {
  const text = useText();
  const state = useAppState(({ listState }) => listState);
  const total = useAppState(({ list }) => list.total);
  const frame = useRef<HTMLDivElement>(null);
  const width = useElementWidth(frame);
  useSeenSteps(total > 0);
  const size = width >= WIDE_PX ? 'wide' : width >= MEDIUM_PX ? 'medium' : 'small';
  const { all } = useColumns();
  const actionsPx = size === 'wide' ? ACTIONS_PX : 0;
  const columns = useMemo(
    () => (size === 'small' ? [] : fitting(all, width, BESIDES_PX + actionsPx)),
    [all, width, size, actionsPx],
  );
  const style =
    size === 'small'
      ? {}
      : { '--columns': gridColumns(columns, actionsPx), '--figures': figuresPx(columns) };
  return (
    <section
      className={`list ${size}`}
      style={style as CSSProperties}
      ref={frame}
      aria-label={text.t('list.label')}
    >
      {state === 'loading' && <LoadingList />}
      {typeof state === 'object' && <FailedList why={state.failed} />}
      {state === 'ready' && total === 0 && <EmptyList />}
      {state === 'ready' && total > 0 && (
        <Grid
          total={total}
          headPx={size === 'small' ? 0 : HEAD_PX}
          {...{ frame, columns, actionsPx }}
        />
      )}
    </section>
  );
}

/** Counts the first steps as seen once there is a download: an emptied list does not show them. */
function useSeenSteps(hasDownloads: boolean): void {
  const app = useApp();
  const isOver = useAppState(({ settings }) => isFirstRun(settings)) && hasDownloads;
  useEffect(() => {
    if (!isOver) return;
    // Nobody has asked for it: a failure says nothing to the user.
    void app.changes
      .inTurn(() => app.call('millrace.setSettings', SEEN_CHANGE))
      .then((settings) => app.applySettings(settings))
      .catch(() => undefined);
  }, [app, isOver]);
}

interface GridProps {
  readonly total: number;
  /** Height of the line with the names of the columns, pixels; 0: there is none. */
  readonly headPx: number;
  readonly frame: RefObject<HTMLElement | null>;
  readonly columns: readonly Column[];
  readonly actionsPx: number;
}

/** Shows head and rows. */
function Grid({ total, headPx, frame, columns, actionsPx }: GridProps) {
  const actions = useActions();
  const text = useText();
  const selection = useAppState((state) => state.selection);
  const focused = useAppState(
    ({ list, selection: { focus } }) => focus !== undefined && indexOf(list, focus) >= 0,
  );
  const density = useAppState(({ settings }) => settings?.appearance.density ?? 'comfortable');
  const scroller = useRef<HTMLDivElement>(null);
  const rowPx = ROW_PX[density];
  const drag = useDragOrder(scroller, rowPx);
  const onClick = (event: MouseEvent) => {
    const gid = gidOf(event.target);
    if (gid === undefined || isButton(event.target) || drag.justDropped()) return;
    actions.choose(gid, { shift: event.shiftKey, toggle: event.ctrlKey || event.metaKey });
  };
  const onContextMenu = (event: MouseEvent) => {
    const gid = gidOf(event.target);
    if (gid === undefined) return event.preventDefault();
    if (!selection.gids.has(gid)) actions.choose(gid, { shift: false, toggle: false });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.floor((scroller.current?.clientHeight ?? rowPx) / rowPx) - 1);
    if (listKey(event, actions, targets(selection), page, total)) event.preventDefault();
  };

  return (
    <ListMenu>
      <div
        ref={scroller}
        className="scroller"
        role="grid"
        tabIndex={0}
        aria-label={text.t('list.label')}
        aria-multiselectable="true"
        aria-rowcount={total + 1}
        aria-activedescendant={focused ? `row-${selection.focus}` : undefined}
        onClick={onClick}
        onDoubleClick={(event) => gidOf(event.target) && actions.setPanel(true)}
        onContextMenu={onContextMenu}
        onKeyDown={onKeyDown}
        onPointerDown={drag.onPointerDown}
      >
        {headPx > 0 && <ListHead columns={columns} frame={frame} actionsPx={actionsPx} />}
        <ListRows
          scroller={scroller}
          total={total}
          rowPx={rowPx}
          headPx={headPx}
          columns={columns}
          dropLine={drag.line}
        />
      </div>
    </ListMenu>
  );
}

type ListActions = ReturnType<typeof useActions>;

/** Handles a key. @returns true if the key means something to the list */
function listKey(
  event: KeyboardEvent,
  actions: ListActions,
  chosen: readonly string[],
  page: number,
  total: number,
): boolean {
  const toggle = event.ctrlKey || event.metaKey;
  const go = (by: number) => {
    void actions.step(by, { shift: event.shiftKey, toggle });
    return true;
  };
  if (isButton(event.target)) return false;
  if (event.altKey && (event.key === 'ArrowUp' || event.key === 'ArrowDown')) {
    void actions.shift(chosen, event.key === 'ArrowUp' ? -1 : 1);
    return true;
  }
  switch (event.key) {
    case 'ArrowDown':
      return go(1);
    case 'ArrowUp':
      return go(-1);
    case 'PageDown':
      return go(page);
    case 'PageUp':
      return go(-page);
    case 'Home':
      return go(-total);
    case 'End':
      return go(total);
    case ' ':
      if (toggle) actions.toggleFocus();
      else void actions.toggle(chosen);
      return true;
    case 'Enter':
      actions.setPanel(true);
      return true;
    case 'Delete':
    case 'Backspace':
      void actions.remove(chosen);
      return true;
    case 'a':
      if (!toggle) return false;
      void actions.selectAll();
      return true;
    default:
      return false;
  }
}

function gidOf(target: EventTarget): string | undefined {
  return (target as Element).closest<HTMLElement>('[data-gid]')?.dataset.gid;
}

function isButton(target: EventTarget): boolean {
  return (target as Element).closest('button') !== null;
}
