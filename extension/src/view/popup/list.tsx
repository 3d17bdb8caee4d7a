/** The list of downloads: only visible rows are mounted, and the keyboard reaches all of them. */

import { useVirtualizer } from '@tanstack/react-virtual';
import {
  type KeyboardEvent,
  useCallback,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from 'react';
import type { DownloadCommand, ShownDownload } from '../../contract/taker.ts';
import { useText } from '../common/context.tsx';
import type { PopupModel } from './popup-model.ts';
import { Row } from './row.tsx';
import { commandsFor, heightOf, keyOf, losesBytes } from './shown.ts';

interface ListProps {
  readonly model: PopupModel;
  readonly downloads: readonly ShownDownload[];
}

export function DownloadList({ model, downloads }: ListProps) {
  const text = useText();
  const scroller = useRef<HTMLDivElement>(null);
  const [focus, setFocus] = useState<string>();
  /** The download whose removal has to be confirmed. */
  const [asked, setAsked] = useState<string>();
  const virtual = useVirtualizer({
    count: downloads.length,
    getScrollElement: () => scroller.current,
    getItemKey: (index) => keyOf(downloads[index] as ShownDownload),
    estimateSize: (index) => heightOf(downloads[index] as ShownDownload),
    overscan: 1,
    // For the first drawing, before the size of the window is known.
    initialRect: { width: 380, height: 380 },
  });
  const heights = downloads.map(heightOf).join();
  // biome-ignore lint/correctness/useExhaustiveDependencies: rows have other heights then.
  useLayoutEffect(() => virtual.measure(), [virtual, heights]);

  useEffect(() => {
    // A user who opens the popup with a key continues with keys.
    if (document.activeElement === document.body) scroller.current?.focus();
  }, []);

  const focusIndex = downloads.findIndex((row) => keyOf(row) === focus);
  const run = useCallback(
    (row: ShownDownload, command: DownloadCommand) => {
      setAsked(command === 'remove' && losesBytes(row) ? keyOf(row) : undefined);
      if (command !== 'remove' || !losesBytes(row)) void model.command(row, command);
    },
    [model],
  );
  const answer = useCallback(
    (row: ShownDownload, remove: boolean) => {
      setAsked(undefined);
      if (remove) void model.command(row, 'remove');
      scroller.current?.focus();
    },
    [model],
  );
  const moveTo = (index: number) => {
    const to = Math.min(downloads.length - 1, Math.max(0, index));
    setFocus(keyOf(downloads[to] as ShownDownload));
    virtual.scrollToIndex(to);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const row = downloads[focusIndex];
    const onButton = (event.target as Element).closest('button') !== null;
    if (event.key === 'Escape' && asked !== undefined) {
      setAsked(undefined);
      scroller.current?.focus();
    } else if (onButton && (event.key === 'Enter' || event.key === ' ')) return;
    else if (!moves(event.key, focusIndex, downloads.length, moveTo)) {
      const command = row && commandOf(event.key, row);
      if (row === undefined || command === undefined) return;
      run(row, command);
    }
    event.preventDefault();
  };

  return (
    <div
      ref={scroller}
      className="scroller"
      role="grid"
      tabIndex={0}
      aria-label={text.t('popup.list')}
      aria-rowcount={downloads.length}
      aria-activedescendant={focusIndex >= 0 ? `row-${focus}` : undefined}
      onFocus={(event) => {
        const came = event.target === scroller.current && event.relatedTarget !== null;
        if (came && focusIndex < 0) moveTo(0);
      }}
      onKeyDown={onKeyDown}
    >
      <div className="rows" role="rowgroup" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ index, start, key }) => {
          const row = downloads[index];
          return (
            row !== undefined && (
              <Row
                key={key}
                download={row}
                index={index}
                top={start}
                focused={key === focus}
                asked={key === asked}
                onFocus={setFocus}
                run={run}
                answer={answer}
              />
            )
          );
        })}
      </div>
    </div>
  );
}

const PAGE_ROWS = 5;

/** Moves the focus. @returns true if the key is one that moves it */
function moves(key: string, from: number, count: number, to: (index: number) => void): boolean {
  const places: Readonly<Record<string, number>> = {
    ArrowDown: from + 1,
    ArrowUp: from - 1,
    PageDown: from + PAGE_ROWS,
    PageUp: from - PAGE_ROWS,
    Home: 0,
    End: count - 1,
  };
  const place = places[key];
  if (place !== undefined) to(place);
  return place !== undefined;
}

/** Returns the command of a key for the download that has the focus. */
function commandOf(key: string, row: ShownDownload): DownloadCommand | undefined {
  const can = commandsFor(row);
  if (key === 'Delete' || key === 'Backspace') return 'remove';
  if (key === 'Enter') return can[0];
  if (key === ' ') return can.find((command) => command === 'pause' || command === 'resume');
  return undefined;
}
