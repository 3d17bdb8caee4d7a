/** Computes where the cells of a block map are drawn. */

export interface MapGrid {
  readonly columns: number;
  readonly rows: number;
  /** Pixels from one cell to the next. */
  readonly pitch: number;
}

/** Smallest and largest pitch, pixels: smaller cells are hard to see, larger ones need not be. */
const MIN_PITCH = 6;
const MAX_PITCH = 14;

/** Returns the grid with the largest cells that all fit into a width and a height, pixels. */
export function gridFor(cells: number, width: number, height: number): MapGrid {
  let pitch = MAX_PITCH;
  const rowsAt = (size: number) => Math.ceil(cells / Math.max(1, Math.floor(width / size)));
  while (pitch > MIN_PITCH && rowsAt(pitch) * pitch > height) pitch--;
  const columns = Math.max(1, Math.floor(width / pitch));
  return { columns, rows: Math.ceil(cells / columns), pitch };
}

/** Returns the cell at a point of the drawing; undefined if there is none. */
export function cellAt(grid: MapGrid, cells: number, x: number, y: number): number | undefined {
  const column = Math.floor(x / grid.pitch);
  const row = Math.floor(y / grid.pitch);
  if (column < 0 || column >= grid.columns || row < 0) return undefined;
  const cell = row * grid.columns + column;
  return cell < cells ? cell : undefined;
}

/** Returns the bytes of a cell, end not included. */
export function cellBytes(length: number, cells: number, cell: number): [number, number] {
  return [Math.floor((length * cell) / cells), Math.floor((length * (cell + 1)) / cells)];
}
