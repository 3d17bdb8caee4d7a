/**
 * The list of what was found. Only rows near the visible ones are mounted, so that ten thousand cost
 * no more than a hundred. One row can be reached with the tab key; arrow keys lead to the others.
 */

import { type Range, useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import { OVERSCAN_ROWS, rowsAround } from '../common/window-rows.ts';

/** Height of a row before it is measured, pixels. */
const ROW_PX = 37;
/** Rows that Page Up and Page Down skip. */
const PAGE_ROWS = 5;

interface ListProps {
  readonly label: string;
  readonly count: number;
  readonly keyAt: (index: number) => string;
  /** Makes the content of a row. Its checkbox gets this tabIndex. */
  readonly row: (index: number, tabIndex: 0 | -1) => ReactNode;
}

export function FoundList({ label, count, keyAt, row }: ListProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const [reached, setReached] = useState(0);
  const active = Math.min(reached, count - 1);
  /** Row whose checkbox gets the focus once it is mounted. */
  const awaited = useRef<number>(undefined);
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    getItemKey: keyAt,
    overscan: OVERSCAN_ROWS,
    // The row with the focus stays mounted while others are scrolled into sight.
    rangeExtractor: (range: Range) => {
      const rows = rowsAround(range);
      if (active < 0 || rows.includes(active)) return rows;
      return [...rows, active].sort((a, b) => a - b);
    },
  });
  useEffect(() => {
    if (awaited.current !== active) return;
    awaited.current = undefined;
    const box = `[data-index="${active}"] input`;
    scroller.current?.querySelector<HTMLElement>(box)?.focus({ preventScroll: true });
  });
  const onKeyDown = (event: KeyboardEvent) => {
    const to = placeAfter(event.key, active, count);
    if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    awaited.current = to;
    setReached(to);
    virtual.scrollToIndex(to);
  };
  return (
    <div className="found" ref={scroller}>
      <ul
        aria-label={label}
        style={{ height: virtual.getTotalSize() }}
        onKeyDown={onKeyDown}
        onFocus={(event) => {
          const index = event.target.closest('li')?.dataset.index;
          if (index !== undefined) setReached(Number(index));
        }}
      >
        {virtual.getVirtualItems().map(({ index, key, start }) => (
          <li
            key={key}
            ref={virtual.measureElement}
            data-index={index}
            aria-setsize={count}
            aria-posinset={index + 1}
            style={{ transform: `translateY(${start}px)` }}
          >
            {row(index, index === active ? 0 : -1)}
          </li>
        ))}
      </ul>
    </div>
  );
}

function placeAfter(key: string, at: number, count: number): number | undefined {
  const last = count - 1;
  switch (key) {
    case 'ArrowDown':
      return Math.min(last, at + 1);
    case 'ArrowUp':
      return Math.max(0, at - 1);
    case 'PageDown':
      return Math.min(last, at + PAGE_ROWS);
    case 'PageUp':
      return Math.max(0, at - PAGE_ROWS);
    case 'Home':
      return 0;
    case 'End':
      return last;
    default:
      return undefined;
  }
}
