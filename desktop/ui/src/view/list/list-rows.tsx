/** The mounted rows of the list: the visible rows and some around them. */

import { useVirtualizer } from '@tanstack/react-virtual';
import { memo, type RefObject, useEffect, useLayoutEffect, useMemo, useRef } from 'react';
import type { Column } from '../../model/columns/columns.ts';
import { gidAt, indexOf } from '../../model/list-window.ts';
import { useApp, useAppState } from '../common/context.tsx';
import { OVERSCAN_ROWS, rowsAround } from '../common/window-rows.ts';
import { ListRow } from './list-row.tsx';

interface ListRowsProps {
  readonly scroller: RefObject<HTMLDivElement | null>;
  readonly total: number;
  readonly rowPx: number;
  /** Height of the line with the names of the columns, pixels. */
  readonly headPx: number;
  readonly columns: readonly Column[];
  /** Place where dragged rows would go, pixels from the top of the rows. */
  readonly dropLine: number | undefined;
}

/** Separate from the list around it, which then need not be drawn again while it is scrolled. */
export const ListRows = memo(function ListRows(props: ListRowsProps) {
  const { scroller, total, rowPx, headPx, columns, dropLine } = props;
  const app = useApp();
  const list = useAppState((state) => state.list);
  const selection = useAppState((state) => state.selection);
  const categories = useAppState(({ settings }) => settings?.categories);
  const isCompact = useAppState(({ settings }) => settings?.appearance.density === 'compact');
  const look = useMemo(
    () => ({ columns, categories, isCompact }),
    [columns, categories, isCompact],
  );
  const virtual = useVirtualizer({
    count: total,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowPx,
    overscan: OVERSCAN_ROWS,
    rangeExtractor: rowsAround,
    scrollMargin: headPx,
    scrollPaddingStart: headPx,
  });
  const items = virtual.getVirtualItems();
  const first = items[0]?.index ?? 0;
  const last = items[items.length - 1]?.index ?? 0;
  useEffect(() => app.setVisible(first, last), [app, first, last]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the height of rows changes with it.
  useLayoutEffect(() => virtual.measure(), [virtual, rowPx]);

  const focusIndex = selection.focus === undefined ? -1 : indexOf(list, selection.focus);
  const focused = useRef(selection.focus);
  useEffect(() => {
    if (focused.current === selection.focus || focusIndex < 0) return;
    focused.current = selection.focus;
    virtual.scrollToIndex(focusIndex);
  }, [selection.focus, focusIndex, virtual]);

  return (
    <div className="rows" role="rowgroup" style={{ height: virtual.getTotalSize() }}>
      {items.map(({ index, start, key }) => {
        const gid = gidAt(list, index);
        return (
          <ListRow
            key={gid ?? String(key)}
            gid={gid}
            index={index}
            top={start - headPx}
            look={look}
            selected={gid !== undefined && selection.gids.has(gid)}
            focused={gid !== undefined && gid === selection.focus}
          />
        );
      })}
      {dropLine !== undefined && (
        <div className="drop-line" style={{ transform: `translateY(${dropLine}px)` }} />
      )}
    </div>
  );
});
