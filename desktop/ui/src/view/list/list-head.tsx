/** The line with the names of the columns, by which the list is sorted and columns are resized. */

import { Icon } from '@millrace/shared/ui/icons';
import { type KeyboardEvent, type PointerEvent, type RefObject, useState } from 'react';
import {
  type Column,
  type ColumnName,
  resized,
  STEP_PX,
  widened,
} from '../../model/columns/columns.ts';
import { sortBy } from '../../model/filter.ts';
import { useApp, useAppState, useText } from '../common/context.tsx';
import { figuresPx, gridColumns, useColumns } from './use-columns.ts';

type HeadName = 'status' | 'name' | ColumnName;

interface HeadProps {
  /** Columns that are shown in this width of the list. */
  readonly columns: readonly Column[];
  readonly frame: RefObject<HTMLElement | null>;
  readonly actionsPx: number;
}

export function ListHead({ columns, frame, actionsPx }: HeadProps) {
  const text = useText();
  const app = useApp();
  const view = useAppState((state) => state.view);
  const { change } = useColumns();
  const [stop, setStop] = useState(1);
  const sorts: readonly HeadName[] = ['status', 'name', ...columns.map(({ name }) => name)];
  const direction = text.direction === 'rtl' ? -1 : 1;

  const onKeyDown = (event: KeyboardEvent) => {
    const way = { ArrowLeft: -direction, ArrowRight: direction }[event.key];
    if (way === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    const column = columns[stop - 2];
    if (event.shiftKey) {
      if (column === undefined) return;
      return change((now) => widened(now, column.name, -way * STEP_PX));
    }
    const to = Math.min(sorts.length - 1, Math.max(0, stop + way));
    setStop(to);
    event.currentTarget.querySelectorAll<HTMLElement>('button')[to]?.focus();
  };
  const onResize = (event: PointerEvent, { name, px }: Column) => {
    if (event.button !== 0) return;
    event.preventDefault();
    event.stopPropagation();
    const handle = event.currentTarget;
    const startX = event.clientX;
    const widthAt = (x: number) => px - (x - startX) * direction;
    const draw = (shown: readonly Column[]) => {
      frame.current?.style.setProperty('--columns', gridColumns(shown, actionsPx));
      frame.current?.style.setProperty('--figures', figuresPx(shown));
    };
    handle.setPointerCapture(event.pointerId);
    // Rows follow by a style of the list alone, so that none of them is drawn again.
    const move = (moved: globalThis.PointerEvent) =>
      draw(resized(columns, name, widthAt(moved.clientX)));
    const end = (ended: globalThis.PointerEvent) => {
      for (const [kind, listener] of listeners) {
        handle.removeEventListener(kind, listener as EventListener);
      }
      if (ended.type === 'pointercancel') draw(columns);
      else change((now) => resized(now, name, widthAt(ended.clientX)));
    };
    const listeners = [
      ['pointermove', move],
      ['pointerup', end],
      ['pointercancel', end],
    ] as const;
    for (const [kind, listener] of listeners) {
      handle.addEventListener(kind, listener as EventListener);
    }
  };

  const head = (sort: HeadName, index: number, label: string, column?: Column) => {
    const isSorted = view.sort === sort;
    const order = view.descending ? 'descending' : 'ascending';
    return (
      <span
        key={sort}
        className={sort === 'status' ? 'row-icon' : `row-${sort}`}
        role="columnheader"
        aria-sort={isSorted ? order : 'none'}
      >
        {column !== undefined && (
          <span
            className="resizer"
            aria-hidden="true"
            onPointerDown={(event) => onResize(event, column)}
          />
        )}
        <button
          type="button"
          className="head-button cut"
          tabIndex={index === Math.min(stop, sorts.length - 1) ? 0 : -1}
          aria-keyshortcuts={column && 'Shift+ArrowLeft Shift+ArrowRight'}
          title={[text.t(`list.${sort}.help`), column && text.t('list.head.keys')]
            .filter((part) => part !== undefined)
            .join('. ')}
          onFocus={() => setStop(index)}
          onClick={() => void app.setView(sortBy(view, sort))}
        >
          {sort === 'status' ? <span className="hidden">{label}</span> : label}
          {isSorted && <Icon name={view.descending ? 'down' : 'up'} size={11} />}
        </button>
      </span>
    );
  };

  return (
    <div className="row head" role="rowgroup">
      <div className="head-row" role="row" aria-rowindex={1} onKeyDown={onKeyDown}>
        {head('status', 0, text.t('list.state'))}
        {head('name', 1, text.t('list.name'))}
        {columns.map((column, i) =>
          head(column.name, i + 2, text.t(`list.${column.name satisfies ColumnName}`), column),
        )}
        <span className="row-actions" role="columnheader">
          <span className="hidden">{text.t('list.actions')}</span>
        </span>
      </div>
    </div>
  );
}
