/** The map of a file's blocks: stored ones by their source, and those being received. */

import type { BlockMap as Blocks, SourceView } from '@millrace/shared/bridge/rpc/detail-api';
import { type PointerEvent, useEffect, useRef, useState } from 'react';
import { cellAt, cellBytes, gridFor, type MapGrid } from '../../model/map-geometry.ts';
import { sourceColour } from '../../model/source-colours.ts';
import { sourceLabel } from '../../model/source-label.ts';
import { bytes, percent } from '../../text/format.ts';
import { useAppState, useText } from '../common/context.tsx';
import { useElementWidth } from '../common/element-width.ts';
import { useDark } from '../common/theme.ts';

const MAX_HEIGHT = 190;
const GAP = 1;

interface MapProps {
  readonly map: Blocks;
  readonly sources: readonly SourceView[];
  /** Stored share, 0 to 1. */
  readonly share: number;
}

export function BlockMap({ map, sources, share }: MapProps) {
  const text = useText();
  const dark = useDark();
  const frame = useRef<HTMLDivElement>(null);
  const edges = useAppState(({ settings }) => settings?.edges);
  const canvas = useRef<HTMLCanvasElement>(null);
  const width = useElementWidth(frame);
  const [pointed, setPointed] = useState<number | undefined>(undefined);
  const cells = map.stored.length;
  const grid = gridFor(cells, width, MAX_HEIGHT);

  useEffect(() => {
    const context = canvas.current?.getContext('2d');
    if (context && width > 0) draw(context, grid, map, dark, pointed);
  });

  const onMove = (event: PointerEvent) => {
    const box = event.currentTarget.getBoundingClientRect();
    setPointed(cellAt(grid, cells, event.clientX - box.left, event.clientY - box.top));
  };
  return (
    <div ref={frame}>
      {cells === 0 ? (
        <p className="note">{text.t('details.blocks.unknown')}</p>
      ) : (
        <>
          <canvas
            ref={canvas}
            className="block-map"
            role="img"
            aria-label={text.t('details.blocks.label', { percent: percent(text, share) })}
            style={{ height: grid.rows * grid.pitch }}
            onPointerMove={onMove}
            onPointerLeave={() => setPointed(undefined)}
          />
          {pointed === undefined || map.length === undefined ? (
            <Legend map={map} sources={sources} />
          ) : (
            <p className="note figures map-caption">{describe(pointed)}</p>
          )}
        </>
      )}
    </div>
  );

  function describe(cell: number): string {
    const [from, to] = cellBytes(map.length ?? 0, cells, cell);
    const stored = percent(text, (map.stored[cell] ?? 0) / 100);
    const source = sources[map.by[cell] ?? -1];
    const what =
      source === undefined
        ? stored
        : text.t('details.blocks.by', { share: stored, source: sourceLabel(source, edges ?? []) });
    return text.t('details.blocks.cell', {
      from: bytes(text, from),
      to: bytes(text, to),
      share: what,
    });
  }
}

function Legend({ map, sources }: { map: Blocks; sources: readonly SourceView[] }) {
  const text = useText();
  const edges = useAppState(({ settings }) => settings?.edges);
  const dark = useDark();
  const seen = new Set(map.by.filter((_, cell) => (map.stored[cell] ?? 0) > 0));
  return (
    <ul className="legend">
      {sources.map((source, i) =>
        seen.has(i) || source.state === 'used' ? (
          <li key={`${source.kind} ${source.url}`}>
            <i style={{ background: sourceColour(i, dark) }} />
            <span className="cut">{sourceLabel(source, edges ?? [])}</span>
          </li>
        ) : null,
      )}
      {seen.has(-1) && (
        <li>
          <i style={{ background: sourceColour(-1, dark) }} />
          <span>{text.t('details.blocks.earlier')}</span>
        </li>
      )}
    </ul>
  );
}

function draw(
  context: CanvasRenderingContext2D,
  grid: MapGrid,
  map: Blocks,
  dark: boolean,
  pointed: number | undefined,
): void {
  const { canvas } = context;
  const scale = window.devicePixelRatio || 1;
  const width = Math.round(grid.columns * grid.pitch * scale);
  const height = Math.round(grid.rows * grid.pitch * scale);
  if (canvas.width !== width || canvas.height !== height) {
    canvas.width = width;
    canvas.height = height;
    canvas.style.width = `${grid.columns * grid.pitch}px`;
  }
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  const size = grid.pitch - GAP;
  const arriving = new Set(map.arriving);
  const empty = dark ? '#262f38' : '#e3e8ec';
  const coming = dark ? '#4a5a66' : '#b9c6cf';
  map.stored.forEach((stored, cell) => {
    const x = (cell % grid.columns) * grid.pitch;
    const y = Math.floor(cell / grid.columns) * grid.pitch;
    context.fillStyle = arriving.has(cell) && stored < 100 ? coming : empty;
    context.fillRect(x, y, size, size);
    if (stored > 0) {
      context.fillStyle = sourceColour(map.by[cell] ?? -1, dark);
      // A partly stored cell is filled from below.
      const part = stored >= 100 ? size : Math.max(1, (size * stored) / 100);
      context.fillRect(x, y + size - part, size, part);
    }
    if (cell === pointed) {
      context.strokeStyle = dark ? '#ffffff' : '#17212b';
      context.lineWidth = 1.5;
      context.strokeRect(x - 0.5, y - 0.5, size + 1, size + 1);
    }
  });
}
