/** Draws the icon and the bar of a row in a list of downloads, in the colour of its state. */

import { Icon } from './icons.tsx';

/** State of a row: also the name of its icon and the class of its colour. */
export type Tone = 'active' | 'queued' | 'paused' | 'done' | 'failed';

export function RowIcon({ tone }: { tone: Tone }) {
  return (
    <span className={`row-icon ${tone}`} role="gridcell">
      <Icon name={tone} />
    </span>
  );
}

interface BarProps {
  /** Share of the file, from 0 to 1; undefined if its length is unknown. */
  readonly share: number | undefined;
  readonly tone: Tone;
  /** True while bytes come in; if the length is unknown, the bar then moves. */
  readonly isRunning: boolean;
}

export function Bar({ share, tone, isRunning }: BarProps) {
  if (share === undefined) {
    return <span className={`bar ${isRunning ? 'unknown' : tone}`}>{isRunning && <span />}</span>;
  }
  return (
    <span className={`bar ${tone}`}>
      <span style={{ transform: `scaleX(${share})` }} />
    </span>
  );
}
