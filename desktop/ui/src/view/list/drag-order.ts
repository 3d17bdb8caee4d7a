/** Lets users drag rows of the queue to another place. */

import { type PointerEvent, type RefObject, useRef, useState } from 'react';
import { isQueued } from '../../model/failure.ts';
import { canReorder } from '../../model/filter.ts';
import { gidAt } from '../../model/list-window.ts';
import { useActions, useApp } from '../common/context.tsx';

/** Distance, pixels, below which a drag is taken for a click with an unsteady hand. */
const FAR_PX = 6;
/**
 * Distance from the edge at which the list scrolls (twice that at the top), and its step per move.
 */
const EDGE_PX = 36;
const SCROLL_PX = 14;
const DROP_QUIET_MS = 50;
const FINISHED: ReadonlySet<string> = new Set(['complete', 'error', 'removed']);

/** Handles the dragging of rows. @returns line: drop line, pixels from the top of the rows */
export function useDragOrder(scroller: RefObject<HTMLDivElement | null>, rowPx: number) {
  const app = useApp();
  const actions = useActions();
  const [line, setLine] = useState<number | undefined>(undefined);
  const droppedAt = useRef(0);

  const queued = (gid: string | undefined) => {
    const row = gid === undefined ? undefined : app.rows.get(gid);
    return row !== undefined && isQueued(row);
  };

  /** Returns the index of a drop: before any row of the queue, or after its last one. */
  const placeAt = (y: number): number => {
    const { list } = app.state;
    const statusAt = (index: number) => app.rows.get(gidAt(list, index) ?? '')?.status ?? '';
    let index = Math.max(0, Math.min(list.total, Math.round(y / rowPx)));
    while (index < list.total && statusAt(index) === 'active') index++;
    while (index > 0 && FINISHED.has(statusAt(index - 1))) index--;
    return index;
  };

  const onPointerDown = (event: PointerEvent) => {
    const target = event.target as Element;
    const gid = target.closest<HTMLElement>('[data-gid]')?.dataset.gid;
    if (event.button !== 0 || event.pointerType === 'touch' || target.closest('button')) return;
    if (gid === undefined || !canReorder(app.state.view) || !queued(gid)) return;
    const startY = event.clientY;
    const pointer = event.pointerId;
    let to: number | undefined;

    const move = (moved: globalThis.PointerEvent) => {
      const box = scroller.current;
      if (box === null || moved.pointerId !== pointer) return;
      if (to === undefined && Math.abs(moved.clientY - startY) < FAR_PX) return;
      const frame = box.getBoundingClientRect();
      if (moved.clientY < frame.top + EDGE_PX * 2) box.scrollTop -= SCROLL_PX;
      else if (moved.clientY > frame.bottom - EDGE_PX) box.scrollTop += SCROLL_PX;
      const rows = box.querySelector('.rows')?.getBoundingClientRect();
      to = placeAt(moved.clientY - (rows?.top ?? 0));
      document.body.classList.add('dragging-rows');
      setLine(to * rowPx);
    };
    const end = (dropped: boolean) => {
      window.removeEventListener('pointermove', move);
      window.removeEventListener('pointerup', drop);
      window.removeEventListener('pointercancel', cancel);
      window.removeEventListener('keydown', onEscape, true);
      document.body.classList.remove('dragging-rows');
      setLine(undefined);
      if (to === undefined) return;
      droppedAt.current = Date.now();
      if (!dropped) return;
      const { selection, list } = app.state;
      const chosen = selection.gids.has(gid) ? [...selection.gids].filter(queued) : [gid];
      let at = to;
      while (at < list.total && chosen.includes(gidAt(list, at) ?? '')) at++;
      const before = gidAt(list, at);
      void actions.place(chosen, queued(before) ? (before ?? null) : null);
    };
    const drop = () => end(true);
    const cancel = () => end(false);
    const onEscape = (key: globalThis.KeyboardEvent) => {
      if (key.key !== 'Escape') return;
      key.stopPropagation();
      end(false);
    };
    window.addEventListener('pointermove', move);
    window.addEventListener('pointerup', drop);
    window.addEventListener('pointercancel', cancel);
    window.addEventListener('keydown', onEscape, true);
  };

  /** Returns true for the click that ends a drag: it selects nothing. */
  const justDropped = () => Date.now() - droppedAt.current < DROP_QUIET_MS;
  return { line, onPointerDown, justDropped };
}
